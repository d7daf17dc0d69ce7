# SPDX-License-Identifier: Apache-2.0
"""Django's template engine: filters, blocks, includes, loops, and tags of our own."""
import datetime
import sys
import types

import django
from django import template
from django.conf import settings
from django.utils.safestring import mark_safe

register = template.Library()
TEMPLATES = {
    "base": "<title>{% block title %}none{% endblock %}</title>{% block body %}{% for n in short %}{{ n }}{% endfor %}"
            "{% endblock %}{% block foot %}{% endblock %}",
    "middle": "{% extends 'base' %}{% block body %}[{{ block.super }}]{% block inner %}{% endblock %}{% endblock %}",
    "part": "{% if depth > 0 %}({{ depth }}{% with depth=depth|add:'-1' %}{% include 'part' %}{% endwith %})"
            "{% elif depth == 0 %}!{% else %}?{% endif %}",
    "page": "{% extends 'middle' %}{% load ours %}{% block title %}{{ title|title|truncatechars:12 }}{% endblock %}"
            "{% block inner %}{% for item in items %}{% cycle 'odd' 'even' as parity %}"
            "{% ifchanged item.kind %}<h1>{{ item.kind|default:'none' }}</h1>{% endifchanged %}"
            "{{ forloop.counter }}/{{ forloop.revcounter0 }} {{ item.name|upper|slugify }} {{ item.text }} "
            "{{ item.cost|floatformat:1 }}{{ item.cost|pluralize }} {{ item.when|date:'Y-m-d D' }} "
            "{% if item.cost > 50 and not item.kind == 'a' or forloop.last %}{{ item.text|safe|striptags|wordcount }}"
            "{% else %}{{ item.below.0.name|default_if_none:'-' }}{{ item.nothing.at.all }}{% endif %}"
            "{% shout item.name times=2 %}{% repeated 2 %}{{ parity }}{% endrepeated %}"
            "{% empty %}nothing{% endfor %}"
            "{% regroup items by kind as kinds %}{% for kind in kinds %}{{ kind.grouper }}:{{ kind.list|length }}"
            "{% for one in kind.list %}{{ one.cost|divisibleby:3|yesno:'y,n' }}{% endfor %}{% endfor %}"
            "{% filter force_escape|lower %}<B>{{ words|join:', '|linebreaks }}</B>{% endfilter %}"
            "{% spaceless %}<p> <a> </a> </p>{% endspaceless %}{% autoescape off %}{{ title }}{% endautoescape %}"
            "{% widthratio short|length 7 100 %}{% templatetag openblock %}{% verbatim %}{{ raw }}{% endverbatim %}"
            "{{ words|dictsort:0|slice:':2'|unordered_list }}{% firstof none title %}{{ words|json_script:'id' }}"
            "{% comment %}{{ no }}{% endcomment %}{% endblock %}"
            "{% block foot %}{% include 'part' with depth=6 %}{% boxed title %}{% endblock %}",
    "box": "<box>{{ content }}{% for n in range %}{% if n == 3 %}{{ n }}{% endif %}{% endfor %}</box>",
}
WRONG = ["{% for %}", "{% if a %}", "{{ x|nothing }}", "{% nothing %}", "{% include 'missing' %}", "{% block a %}{% block a %}",
         "{% load ours %}{% shout %}", "{{ fails.here }}", "{% extends 'missing' %}", "{% if a b %}{% endif %}"]


@register.filter
def bang(value, count=1):
    return f"{value}{'!' * int(count)}"


@register.simple_tag(takes_context=True)
def shout(context, name, times=1):
    return bang(name, times) + str(len(context.flatten()))


@register.inclusion_tag("box")
def boxed(content):
    return {"content": content, "range": range(5)}


class Repeated(template.Node):
    def __init__(self, count, nodes):
        self.count, self.nodelist = count, nodes

    def render(self, context):
        with context.push(again=True):
            return mark_safe("".join(self.nodelist.render(context) for _ in range(self.count)))


@register.tag
def repeated(parser, token):
    _, count = token.split_contents()
    nodes = parser.parse(("endrepeated",))
    parser.delete_first_token()
    return Repeated(int(count), nodes)


class Item:
    def __init__(self, n, depth=1):
        self.name, self.kind, self.cost = f"Item {n}", "aab"[n % 3] if n % 7 else None, n * 37 % 101
        self.text, self.when = f"<b>{n} words & more</b>", datetime.date(2024, 1 + n % 12, 1 + n % 28)
        self.below = [Item(n + 1, 0)] * (n % 2) if depth else []


class Fails:
    @property
    def here(self):
        raise KeyError("here")


def start():
    """A setting up without a project; tags are looked for in modules."""
    sys.modules["ours"] = types.ModuleType("ours")
    sys.modules["ours"].register = register
    settings.configure(USE_TZ=False, TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", TEMPLATES)], "libraries": {"ours": "ours"}}}])
    django.setup()


def results():
    engine = template.engines["django"].engine
    for n in (0, 1, 8, 60):
        context = {"title": f"a <page> of {n}", "items": [Item(k) for k in range(n)], "short": range(n % 5),
                   "words": [f"w{k}" for k in range(n)]}
        yield len(engine.get_template("page").render(template.Context(context)))
    for text in WRONG:
        try:
            yield engine.from_string(text).render(template.Context({"a": 1, "fails": Fails()}))
        except (template.TemplateSyntaxError, template.TemplateDoesNotExist, KeyError) as error:
            yield type(error).__name__


start()
print(list(results()))
