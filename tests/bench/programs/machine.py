# SPDX-License-Identifier: Apache-2.0
"""An interpreter for a stack machine, its programs, and a compiler to it; `match`, dispatch, long loops."""

ROUNDS = 28


class Machine:
    def __init__(self, code):
        self.code = code
        self.stack = []
        self.cells = [0] * 8
        self.steps = 0

    def run(self):
        at, stack, cells = 0, self.stack, self.cells
        while True:
            self.steps += 1
            match self.code[at]:
                case ("push", value):
                    stack.append(value)
                case ("load", cell):
                    stack.append(cells[cell])
                case ("store", cell):
                    cells[cell] = stack.pop()
                case ("binary", operator):
                    right = stack.pop()
                    stack.append(self.binary(operator, stack.pop(), right))
                case ("unless", target):
                    if not stack.pop():
                        at = target
                        continue
                case ("jump", target):
                    at = target
                    continue
                case ("halt",):
                    return cells[0]
            at += 1

    def binary(self, operator, left, right):
        match operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/":
                return left // right
            case "%":
                return left % right
            case "<":
                return left < right
        raise ValueError(operator)


def compile_expression(node, code):
    match node:
        case int():
            code.append(("push", node))
        case str():
            code.append(("load", ord(node) - ord("a")))
        case (left, operator, right):
            compile_expression(left, code)
            compile_expression(right, code)
            code.append(("binary", operator))


def compile_statements(statements, code):
    for statement in statements:
        match statement:
            case ("let", name, expression):
                compile_expression(expression, code)
                code.append(("store", ord(name) - ord("a")))
            case ("while", condition, body):
                top = len(code)
                compile_expression(condition, code)
                hole = len(code)
                code.append(None)
                compile_statements(body, code)
                code.append(("jump", top))
                code[hole] = ("unless", len(code))
            case ("if", condition, body, otherwise):
                compile_expression(condition, code)
                hole = len(code)
                code.append(None)
                compile_statements(body, code)
                end = len(code)
                code.append(None)
                code[hole] = ("unless", len(code))
                compile_statements(otherwise, code)
                code[end] = ("jump", len(code))


# The sum of the lengths of the 3n + 1 sequences from 1 to d.
COLLATZ = [
    ("let", "a", 0),
    ("let", "b", 1),
    ("while", ("b", "<", "d"), [
        ("let", "c", "b"),
        ("while", (1, "<", "c"), [
            ("if", ("c", "%", 2), [("let", "c", (("c", "*", 3), "+", 1))], [("let", "c", ("c", "/", 2))]),
            ("let", "a", ("a", "+", 1)),
        ]),
        ("let", "b", ("b", "+", 1)),
    ]),
]


def main(rounds):
    checksum = 0
    for number in range(rounds):
        code = []
        compile_statements([("let", "d", 150 + number), *COLLATZ], code)
        code.append(("halt",))
        machine = Machine(code)
        checksum = (checksum * 31 + machine.run() + machine.steps) % 1000003
    return checksum
