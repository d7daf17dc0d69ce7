# SPDX-License-Identifier: Apache-2.0
"""A ray tracer with a vector class; floats, operators as methods, recursion."""
import math

ROUNDS = 5
WIDTH, HEIGHT = 96, 72
DEPTH = 3


class Vector:
    __slots__ = ("x", "y", "z")

    def __init__(self, x, y, z):
        self.x = x
        self.y = y
        self.z = z

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor, self.z * factor)

    def dot(self, other):
        return self.x * other.x + self.y * other.y + self.z * other.z

    def unit(self):
        return self * (1 / math.sqrt(self.dot(self)))

    def mirrored(self, normal):
        return self - normal * (2 * self.dot(normal))


class Ray:
    __slots__ = ("origin", "direction")

    def __init__(self, origin, direction):
        self.origin = origin
        self.direction = direction.unit()

    def at(self, distance):
        return self.origin + self.direction * distance


class Sphere:
    def __init__(self, centre, radius, shade, mirror):
        self.centre = centre
        self.radius = radius
        self.shade = shade
        self.mirror = mirror

    def distance(self, ray):
        to_centre = self.centre - ray.origin
        along = to_centre.dot(ray.direction)
        off = to_centre.dot(to_centre) - along * along
        if off > self.radius * self.radius:
            return None
        half = math.sqrt(self.radius * self.radius - off)
        if along - half > 1e-6:
            return along - half
        return along + half if along + half > 1e-6 else None

    def normal(self, point):
        return (point - self.centre).unit()

    def shade_at(self, point):
        return self.shade


class Floor:
    mirror = 0.2

    def distance(self, ray):
        if ray.direction.y >= 0:
            return None
        distance = -ray.origin.y / ray.direction.y
        return distance if distance > 1e-6 else None

    def normal(self, point):
        return Vector(0.0, 1.0, 0.0)

    def shade_at(self, point):
        return 0.9 if (math.floor(point.x) + math.floor(point.z)) % 2 else 0.2


class Scene:
    def __init__(self, things, lights):
        self.things = things
        self.lights = lights

    def nearest(self, ray):
        best, found = math.inf, None
        for thing in self.things:
            distance = thing.distance(ray)
            if distance is not None and distance < best:
                best, found = distance, thing
        return best, found

    def light_at(self, point, normal):
        total = 0.1
        for light in self.lights:
            to_light = light - point
            facing = normal.dot(to_light.unit())
            if facing > 0 and self.nearest(Ray(point, to_light))[1] is None:
                total += facing * 0.6
        return total

    def trace(self, ray, depth):
        distance, thing = self.nearest(ray)
        if thing is None:
            return 0.5 + 0.5 * ray.direction.y
        point = ray.at(distance)
        normal = thing.normal(point)
        shade = thing.shade_at(point) * self.light_at(point, normal)
        if depth and thing.mirror:
            reflected = self.trace(Ray(point, ray.direction.mirrored(normal)), depth - 1)
            shade = shade * (1 - thing.mirror) + reflected * thing.mirror
        return shade


def main(rounds):
    spheres = [Sphere(Vector(x - 2.0, 0.7 + 0.3 * (x % 2), 4.0 + z), 0.6, 0.3 + 0.1 * x, 0.15 * z)
               for x in range(4) for z in range(2)]
    scene = Scene(spheres + [Floor()], [Vector(-5.0, 9.0, 0.0), Vector(6.0, 7.0, 2.0)])
    eye = Vector(0.0, 1.2, -2.0)
    checksum = 0
    for turn in range(rounds):
        for y in range(HEIGHT):
            for x in range(WIDTH):
                direction = Vector((x - WIDTH / 2) / WIDTH + turn * 0.01, (HEIGHT / 2 - y) / WIDTH, 1.0)
                shade = scene.trace(Ray(eye, direction), DEPTH)
                checksum = (checksum * 31 + int(shade * 255)) % 1000003
    return checksum
