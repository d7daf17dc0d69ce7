# SPDX-License-Identifier: Apache-2.0
# How everything is compiled, and the two kinds of target that the folders use.

option(KYMO_WERROR "Treat warnings as errors (CI)" OFF)
set(KYMO_SANITIZE "" CACHE STRING "Sanitizers for everything, as -fsanitize takes them")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(KYMO_PYTHON_DIR ${PROJECT_BINARY_DIR}/python)

add_compile_definitions(_GNU_SOURCE KYMO_VERSION="${PROJECT_VERSION}")
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes
    "$<$<BOOL:${KYMO_WERROR}>:-Werror;-Wno-error=array-bounds;-Wno-error=stringop-overflow>") # the optimiser guesses these, and is wrong here
# GCC clears and copies structures of more than 64 bytes by `rep stos` and `rep movs`, which take longer to start than all of that.
include(CheckCCompilerFlag)
set(memory_strategy -mmemset-strategy=vector_loop:256:noalign,libcall:-1:noalign
    -mmemcpy-strategy=vector_loop:256:noalign,libcall:-1:noalign)
check_c_compiler_flag("${memory_strategy}" KYMO_HAS_MEMORY_STRATEGY)
if(KYMO_HAS_MEMORY_STRATEGY)
    add_compile_options(${memory_strategy})
endif()
add_link_options(-Wl,--as-needed)
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

if(KYMO_SANITIZE)
    add_compile_options(-fsanitize=${KYMO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
    add_link_options(-fsanitize=${KYMO_SANITIZE})
    if(KYMO_SANITIZE MATCHES thread)
        add_compile_options(-Wno-tsan) # fences: what they order is accessed atomically as well
    endif()
endif()

# The static library kymo_<folder> out of every source in the folder; further arguments are what it links.
function(kymo_library)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    file(GLOB sources CONFIGURE_DEPENDS *.c)
    add_library(kymo_${folder} STATIC ${sources})
    if(folder MATCHES "^(format|recorder|reader)$") # each number that gets narrower says so
        target_compile_options(kymo_${folder} PRIVATE $<$<C_COMPILER_ID:GNU>:-Wconversion>)
    endif()
    target_link_libraries(kymo_${folder} PUBLIC ${ARGN})
endfunction()

# The extension module @name of @sources, once for each interpreter of KYMO_PYTHONS, all in @folder.
# It exports its PyInit function and resolves the C API in the interpreter that loads it.
function(kymo_extension name folder sources)
    foreach(python IN LISTS KYMO_PYTHONS)
        execute_process(
            COMMAND ${python} -c "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'), sep=';')"
            OUTPUT_VARIABLE facts OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
        list(GET facts 0 include)
        list(GET facts 1 suffix)
        string(MAKE_C_IDENTIFIER "${name}${suffix}" target)
        if(NOT TARGET ${target})
            add_library(${target} MODULE ${sources})
            set_target_properties(${target} PROPERTIES
                PREFIX "" OUTPUT_NAME ${name} SUFFIX ${suffix} LIBRARY_OUTPUT_DIRECTORY ${folder})
            target_include_directories(${target} SYSTEM PRIVATE ${include})
            # Debian's headers of a debug build are links: GCC would take pyconfig.h from where they lead, which is no debug build.
            target_compile_options(${target} PRIVATE $<$<C_COMPILER_ID:GNU>:-fno-canonical-system-headers>)
            target_link_libraries(${target} PRIVATE ${ARGN})
            target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL)
            set_property(GLOBAL APPEND PROPERTY ${name}_TARGETS ${target})
        endif()
    endforeach()
endfunction()
