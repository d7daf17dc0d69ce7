# SPDX-License-Identifier: Apache-2.0
"""SymPy: simplify, integrate, solve, expand in series, factor, and print what comes out."""
import sympy
from sympy import cos, exp, log, oo, sin, sqrt

x, y, z = sympy.symbols("x y z")
n = sympy.symbols("n", integer=True, positive=True)


def results():
    yield sympy.simplify(sin(x)**2 + cos(x)**2 + (x**2 - 1) / (x - 1))
    yield sympy.trigsimp(sin(x) * cos(y) + cos(x) * sin(y))
    yield sympy.factor(x**6 - y**6)
    yield sympy.expand((x + y + 1)**5)
    yield sympy.apart(1 / (x**3 - x))
    yield sympy.integrate(x**2 * exp(x), x)
    yield sympy.integrate(1 / (x**2 + 1), (x, 0, oo))
    yield sympy.diff(log(x**2 + 1) * sin(x * y), x, 2)
    yield sympy.limit(sin(x) / x, x, 0)
    yield sympy.series(exp(sin(x)), x, 0, 5)
    yield sympy.solve(x**3 - 6 * x**2 + 11 * x - 6, x)
    yield sympy.solve([x + y - 3, x * y - 2], [x, y])
    yield sympy.solveset(sin(x) - sympy.Rational(1, 2), x, sympy.S.Reals)
    yield sympy.summation(n**2, (n, 1, 10))
    yield sympy.Matrix([[1, 2, x], [0, y, 3], [4, 0, 5]]).det()
    yield sympy.Matrix([[2, 1], [1, 2]]).eigenvals()
    yield sympy.factorint(2**32 - 5), sympy.isprime(2**31 - 1), list(sympy.primerange(2, 60))
    yield sympy.groebner([x**2 + y, x * y - 1], x, y)
    yield sympy.sympify("sqrt(8) + 3*I**3 + gamma(5)").evalf(20)
    yield sympy.Piecewise((x, x > 0), (-x, True)).subs(x, -3)


def fail():
    for wrong in (lambda: sympy.sympify("1 +"), lambda: sympy.solve(sympy.Eq(x, oo), "a b"),
                  lambda: sympy.Matrix([[1, 2]]).det(), lambda: sympy.nsolve(x**2 + 1, x, 1)):
        try:
            yield wrong()
        except Exception as error:
            yield type(error).__name__


for result in results():
    print(sympy.srepr(result)[:60], sympy.pretty(result, use_unicode=False).count("\n"), sympy.latex(result)[:60])
print(list(fail()))
