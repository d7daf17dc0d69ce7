# SPDX-License-Identifier: Apache-2.0
"""Jinja2: templates with loops, macros, inheritance, filters of their own and errors, rendered at once and piecewise."""
import asyncio

import jinja2

TEMPLATES = {
    "base": "<title>{% block title %}none{% endblock %}</title>\n"
            "{% block body %}{% for n in range(3) %}{{ n }}{% endfor %}{% endblock %}\n"
            "{% block foot required %}{% endblock %}",
    "macros": "{% macro field(name, kind='text', values=()) -%}\n"
              "<input name={{ name|e }} type={{ kind }}{% for v in values if v %} {{ loop.index }}={{ v }}{% endfor %}>\n"
              "{%- endmacro %}\n"
              "{% macro wrap() %}<b>{{ caller(varargs|length) if caller else '' }}</b>{% endmacro %}",
    "part": "{% set seen = namespace(count=0) %}{% for word in words %}{% if word is long %}"
            "{% set seen.count = seen.count + 1 %}{% endif %}{% endfor %}{{ seen.count }} of {{ words|length }}",
    "page": "{% extends 'base' %}{% import 'macros' as m %}{% from 'macros' import field with context %}\n"
            "{% block title %}{{ super() }} {{ title|title|truncate(12) }}{% endblock %}\n"
            "{% block body %}{{ super() }}{% for group, items in rows|groupby('kind') %}"
            "<h1>{{ group }}</h1>{% for item in items recursive %}"
            "{{ loop.cycle('odd', 'even') }} {{ item.name|upper }} {{ item.cost|money }}"
            "{% if item.below %}({{ loop(item.below) }}){% elif loop.last %}.{% else %},{% endif %}"
            "{% if item.cost > 90 %}{% continue %}{% endif %}"
            "{{ field(item.name, values=[item.kind, '', item.cost]) }}{% else %}nothing{% endfor %}{% endfor %}"
            "{% call(count) m.wrap(1, 2) %}{{ count }}{% endcall %}{% include ['missing', 'part'] %}"
            "{% filter indent(2) %}a\nb\n{{ words|sort|join(' ') }}{% endfilter %}{% endblock %}\n"
            "{% block foot %}{{ rows|map(attribute='cost')|select('odd')|sum }} {{ rows|batch(4, '-')|list|length }}"
            " {{ {'a': [1, {'b': none}]}|tojson }} {{ missing is defined }} {{ (1, 2) + (3,) }} {{ 7 // 2 ** 2 }}"
            "{% raw %}{{ raw }}{% endraw %}{% with x = words[1:3] %}{{ x|first ~ x|last }}{% endwith %}{% endblock %}",
    "slowly": "{% for n in ticks() %}{% if await_it(n) %}{{ n }}{% endif %}{% include 'part' %}{% endfor %}",
}
WRONG = ["{% for %}", "{{ 1 +", "{% if a %}", "{{ x|nothing }}", "{% block a %}{% block a %}", "{{ missing.a.b }}",
         "{{ 1 / 0 }}", "{% include 'missing' %}", "{% extends 'page' %}{% endfor %}"]


class Item:
    def __init__(self, n, depth):
        self.name, self.kind, self.cost = f"item {n}", "abc"[n % 3], n * 37 % 101
        self.below = [Item(n + k, depth - 1) for k in range(n % 3)] if depth else []


async def ticks():
    for n in range(4):
        await asyncio.sleep(0)
        yield n


async def await_it(n):
    await asyncio.sleep(0)
    return n % 2


def make(**options):
    environment = jinja2.Environment(loader=jinja2.DictLoader(TEMPLATES), extensions=["jinja2.ext.loopcontrols"],
                                     **options)
    environment.filters["money"] = lambda cost: f"{cost / 100:.2f}"
    environment.tests["long"] = lambda word: len(word) > 4
    return environment


def values(n):
    return {"title": f"a page of many: {n}", "rows": [Item(k, 2) for k in range(n)],
            "words": [f"word{k * k}" for k in range(n)]}


def render_all():
    size = 0
    for options in ({}, {"trim_blocks": True, "lstrip_blocks": True, "autoescape": True}, {"optimized": False}):
        environment = make(**options)
        for n in (0, 3, 17):
            size += len(environment.get_template("page").render(values(n)))
            size += sum(map(len, environment.get_template("page").generate(values(n))))
            size += len(str(environment.get_template("macros").module.field("a", values="bc")))
    return size


async def render_slowly():
    environment = make(enable_async=True)
    pages = [environment.get_template(name).render_async(ticks=ticks, await_it=await_it, **values(n))
             for n in (1, 9) for name in ("page", "slowly")]
    size = sum(map(len, await asyncio.gather(*pages)))
    async for piece in environment.get_template("slowly").generate_async(ticks=ticks, await_it=await_it, **values(5)):
        size += len(piece)
    return size


def fail():
    environment = make(undefined=jinja2.StrictUndefined)
    for text in WRONG:
        try:
            yield environment.from_string(text).render(a=1)
        except (jinja2.TemplateError, ZeroDivisionError) as error:
            yield type(error).__name__


print(render_all(), asyncio.run(render_slowly()), list(fail()))
