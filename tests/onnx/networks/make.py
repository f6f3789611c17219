#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small whole networks as exporters write them, with weights from a seed: make.py FOLDER

Writes FOLDER/NAME/model.onnx and the inputs FOLDER/NAME/data/input_0.pb, ... of every network. Takes Debian's
python3-onnx.
"""
import sys
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
INFINITY = float("inf")


class Net:
    """A graph that grows by one node a call; tensors are their names."""

    def __init__(self, name):
        self.name = name
        self.random = np.random.RandomState(zlib.crc32(name.encode()))
        self.nodes, self.inputs, self.outputs, self.constants, self.values = [], [], [], [], []

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind.lower()}_{len(self.nodes)}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"node_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value, kind=np.float32):
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, kind), name))
        return name

    def integers(self, *values):
        return self.constant(values, np.int64)

    def weight(self, *shape):
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 4
        return self.constant(self.random.uniform(-1, 1, shape) * 1.7 / np.sqrt(fan_in))

    def positive(self, *shape):
        return self.constant(self.random.uniform(0.5, 1.5, shape))

    def input(self, name, shape, values=None):
        """A shape's dimension that has a name is (name, size)."""
        sizes = [d[1] if isinstance(d, tuple) else d for d in shape]
        if values is None:
            values = self.random.uniform(-1, 1, sizes).astype(np.float32)
        kind = onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[values.dtype]
        dims = [d[0] if isinstance(d, tuple) else d for d in shape]
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        self.values.append(numpy_helper.from_array(values, name))
        return name

    def output(self, tensor, kind=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(tensor, kind, None))

    # --- what several networks have

    def linear(self, x, fan_in, fan_out):
        return self.op("Add", self.op("MatMul", x, self.constant(self.random.uniform(-1, 1, (fan_in, fan_out)) *
                                                                 1.7 / np.sqrt(fan_in))), self.weight(fan_out))

    def conv(self, x, channels_in, channels_out, kernel, groups=1, **attributes):
        weight = self.weight(channels_out, channels_in // groups, kernel, kernel)
        attributes.setdefault("pads", [kernel // 2] * 4)
        return self.op("Conv", x, weight, self.weight(channels_out), kernel_shape=[kernel, kernel], group=groups,
                       **attributes)

    def batch_norm(self, x, channels):
        return self.op("BatchNormalization", x, self.positive(channels), self.weight(channels), self.weight(channels),
                       self.positive(channels), epsilon=1e-3)

    def layer_norm(self, x, width):
        """As operator sets before 17 spell it."""
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", centred, self.constant(2.0)), axes=[-1])
        deviation = self.op("Sqrt", self.op("Add", variance, self.constant(1e-5)))
        return self.op("Add", self.op("Mul", self.op("Div", centred, deviation), self.positive(width)),
                       self.weight(width))

    def rms_norm(self, x, width):
        squares = self.op("ReduceMean", self.op("Pow", x, self.constant(2.0)), axes=[-1])
        root = self.op("Sqrt", self.op("Add", squares, self.constant(1e-6)))
        return self.op("Mul", self.op("Mul", x, self.op("Reciprocal", root)), self.positive(width))

    def size(self, x, axis):
        """One extent as an exporter asks for it: a vector of one element."""
        one = self.op("Gather", self.op("Shape", x), self.constant(axis, np.int64), axis=0)
        return self.op("Unsqueeze", one, self.integers(0))

    def heads(self, x, count):
        """[batch, seq, width] as [batch, heads, seq, width of a head], by shapes asked of the tensor."""
        shape = self.op("Concat", self.size(x, 0), self.size(x, 1), self.integers(count), self.integers(-1), axis=0)
        return self.op("Transpose", self.op("Reshape", x, shape), perm=[0, 2, 1, 3])

    def joined(self, x, width):
        back = self.op("Transpose", x, perm=[0, 2, 1, 3])
        shape = self.op("Concat", self.size(back, 0), self.size(back, 1), self.integers(width), axis=0)
        return self.op("Reshape", back, shape)

    def scores(self, q, k, head):
        return self.op("Div", self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2])),
                       self.constant(np.sqrt(head)))

    def slice(self, x, begin, end, axis, step=1):
        return self.op("Slice", x, self.integers(begin), self.integers(end), self.integers(axis), self.integers(step))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tilescope")
        model.ir_version = 8
        return model


NETWORKS = {}


def network(function):
    NETWORKS[function.__name__] = function
    return function


# --- transformers


@network
def attention(n):
    x = n.input("x", [("batch", 2), ("seq", 5), 12])
    normal = n.op("LayerNormalization", x, n.positive(12), n.weight(12), axis=-1)
    q, k, v = (n.heads(n.linear(normal, 12, 12), 3) for _ in range(3))
    weights = n.op("Softmax", n.scores(q, k, 4), axis=-1)
    n.output(n.op("Add", x, n.linear(n.joined(n.op("MatMul", weights, v), 12), 12, 12)))


@network
def causal_attention(n):
    """The mask is a triangle of the size that the sequence has, and one of padding that is an input."""
    x = n.input("x", [1, ("seq", 6), 8])
    keep = n.input("keep", [1, ("seq", 6)], np.array([[1, 1, 1, 1, 1, 0]], np.int64))
    seq = n.size(x, 1)
    ones = n.op("ConstantOfShape", n.op("Concat", seq, seq, axis=0),
                value=helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0]))
    above = n.op("Cast", n.op("Trilu", ones, n.constant(1, np.int64), upper=1), to=TensorProto.BOOL)
    padded = n.op("Unsqueeze", n.op("Equal", keep, n.constant(0, np.int64)), n.integers(1, 2))
    hidden = n.op("Or", above, padded)
    projected = n.op("MatMul", x, n.weight(8, 24))
    q, k, v = (n.heads(part, 2) for part in n.op("Split", projected, n.integers(8, 8, 8), outputs=3, axis=-1))
    masked = n.op("Where", hidden, n.constant(-INFINITY), n.scores(q, k, 4))
    n.output(n.joined(n.op("MatMul", n.op("Softmax", masked, axis=-1), v), 8))


def repeat_heads(n, x, times):
    """[b, h, s, d] as [b, h * times, s, d], by Unsqueeze, Expand and Reshape."""
    apart = n.op("Unsqueeze", x, n.integers(2))
    parts = [n.size(x, axis) for axis in range(4)]
    wide = n.op("Expand", apart, n.op("Concat", parts[0], parts[1], n.integers(times), parts[2], parts[3], axis=0))
    heads = n.op("Mul", parts[1], n.integers(times))
    return n.op("Reshape", wide, n.op("Concat", parts[0], heads, parts[2], parts[3], axis=0))


@network
def grouped_query_cache(n):
    """One step of decoding: keys and values go behind those of a cache, four heads of queries share two of theirs."""
    x = n.input("x", [("batch", 2), 1, 16])
    past = [n.input(f"past_{what}", [("batch", 2), 2, ("past", 5), 4]) for what in ("key", "value")]
    q = n.heads(n.op("MatMul", x, n.weight(16, 16)), 4)
    present = [n.op("Concat", old, n.heads(n.op("MatMul", x, n.weight(16, 8)), 2), axis=2) for old in past]
    k, v = (repeat_heads(n, t, 2) for t in present)
    y = n.op("MatMul", n.op("Softmax", n.scores(q, k, 4), axis=-1), v)
    n.output(n.op("MatMul", n.joined(y, 16), n.weight(16, 16)))
    for t in present:
        n.output(t)


def rotate(n, x, positions, width):
    half = width // 2
    frequencies = n.constant([[10000.0**(-2 * i / width) for i in range(half)]])
    column = n.op("Unsqueeze", n.op("Cast", positions, to=TensorProto.FLOAT), n.integers(1))
    angles = n.op("MatMul", column, frequencies)
    both = n.op("Concat", angles, angles, axis=-1)
    turned = n.op("Concat", n.op("Neg", n.slice(x, half, 2**63 - 1, -1)), n.slice(x, 0, half, -1), axis=-1)
    return n.op("Add", n.op("Mul", x, n.op("Cos", both)), n.op("Mul", turned, n.op("Sin", both)))


@network
def rotary_embedding(n):
    x = n.input("x", [1, ("seq", 5), 12])
    seq = n.op("Squeeze", n.size(x, 1), n.integers(0))
    positions = n.op("Range", n.constant(0, np.int64), seq, n.constant(1, np.int64))
    q, k = (rotate(n, n.heads(n.op("MatMul", x, n.weight(12, 12)), 2), positions, 6) for _ in range(2))
    n.output(n.op("Softmax", n.scores(q, k, 6), axis=-1))


@network
def experts(n):
    """The two best of four experts; the others have weight zero in a mix of all."""
    tokens, width, hidden, count = 5, 6, 10, 4
    x = n.input("x", [("tokens", tokens), width])
    probability = n.op("Softmax", n.op("MatMul", x, n.weight(width, count)), axis=-1)
    best, which = n.op("TopK", probability, n.integers(2), outputs=2, axis=-1, largest=1, sorted=1)
    share = n.op("Div", best, n.op("ReduceSum", best, n.integers(-1), keepdims=1))
    one_hot = n.op("OneHot", which, n.constant(count, np.int64), n.constant([0.0, 1.0]), axis=-1)
    chosen = n.op("Mul", one_hot, n.op("Unsqueeze", share, n.integers(-1)))
    weights = n.op("ReduceSum", chosen, n.integers(1), keepdims=0)
    each = n.op("Unsqueeze", x, n.integers(0))
    gate, up = (n.op("MatMul", each, n.weight(count, width, hidden)) for _ in range(2))
    down = n.op("MatMul", n.op("Mul", n.silu(gate), up), n.weight(count, hidden, width))
    n.output(n.op("Add", x, n.op("Einsum", weights, down, equation="te,etd->td")))


@network
def gelu_by_erf(n):
    x = n.input("x", [3, 8])
    h = n.linear(x, 8, 16)
    share = n.op("Add", n.op("Erf", n.op("Div", h, n.constant(np.sqrt(2)))), n.constant(1.0))
    gelu = n.op("Mul", n.op("Mul", h, share), n.constant(0.5))
    n.output(n.linear(gelu, 16, 8))


@network
def gelu_by_tanh(n):
    x = n.input("x", [3, 8])
    h = n.linear(x, 8, 16)
    cube = n.op("Pow", h, n.constant(3.0))
    inner = n.op("Mul", n.op("Add", h, n.op("Mul", cube, n.constant(0.044715))), n.constant(np.sqrt(2 / np.pi)))
    gelu = n.op("Mul", n.op("Mul", n.constant(0.5), h), n.op("Add", n.constant(1.0), n.op("Tanh", inner)))
    n.output(n.linear(gelu, 16, 8))


@network
def layer_norm_block(n):
    x = n.input("x", [("batch", 2), 4, 10])
    y = n.op("Add", x, n.linear(n.op("Relu", n.linear(n.layer_norm(x, 10), 10, 20)), 20, 10))
    n.output(n.layer_norm(y, 10))


@network
def rms_norm_gated(n):
    x = n.input("x", [2, ("seq", 4), 8])
    normal = n.rms_norm(x, 8)
    gated = n.op("Mul", n.silu(n.op("MatMul", normal, n.weight(8, 12))), n.op("MatMul", normal, n.weight(8, 12)))
    n.output(n.op("Add", x, n.op("MatMul", gated, n.weight(12, 8))))


@network
def embedding(n):
    """Words and positions; an index counts from the end."""
    ids = n.input("ids", [("batch", 2), ("seq", 4)], np.array([[3, 0, 10, 7], [-1, 2, 2, 5]], np.int64))
    words = n.op("Gather", n.weight(11, 6), ids, axis=0)
    seq = n.op("Gather", n.op("Shape", ids), n.constant(-1, np.int64), axis=0)
    places = n.op("Unsqueeze", n.op("Range", n.constant(0, np.int64), seq, n.constant(1, np.int64)), n.integers(0))
    n.output(n.layer_norm(n.op("Add", words, n.op("Gather", n.weight(8, 6), places, axis=0)), 6))


@network
def window_shift(n):
    """Swin: rolled by half a window, cut into windows, attention with a bias, and all of it back."""
    size, window, width = 4, 2, 6

    def roll(t, by):
        for axis in (1, 2):
            t = n.op("Concat", n.slice(t, by, 2**63 - 1, axis), n.slice(t, 0, by, axis), axis=axis)
        return t

    x = n.input("x", [("batch", 1), size, size, width])
    parts = size // window
    cut = n.op("Reshape", roll(x, 1), n.integers(-1, parts, window, parts, window, width))
    windows = n.op("Reshape", n.op("Transpose", cut, perm=[0, 1, 3, 2, 4, 5]), n.integers(-1, window * window, width))
    qkv = n.op("Reshape", n.linear(windows, width, 3 * width), n.integers(-1, window * window, 3, 2, width // 2))
    order = n.op("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    q, k, v = (n.op("Gather", order, n.constant(i, np.int64), axis=0) for i in range(3))
    biased = n.op("Add", n.scores(q, k, width // 2), n.weight(2, window * window, window * window))
    y = n.op("Transpose", n.op("MatMul", n.op("Softmax", biased, axis=-1), v), perm=[0, 2, 1, 3])
    y = n.op("Reshape", n.linear(n.op("Reshape", y, n.integers(-1, window * window, width)), width, width),
             n.integers(-1, parts, parts, window, window, width))
    whole = n.op("Reshape", n.op("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), n.integers(-1, size, size, width))
    n.output(n.op("Add", x, roll(whole, -1)))


# --- convolutions


@network
def inverted_residual(n):
    x = n.input("x", [("batch", 1), 4, 6, 6])
    six = [n.constant(0.0), n.constant(6.0)]
    h = n.op("Clip", n.batch_norm(n.conv(x, 4, 12, 1), 12), *six)
    h = n.op("Clip", n.batch_norm(n.conv(h, 12, 12, 3, groups=12), 12), *six)
    n.output(n.op("Add", x, n.batch_norm(n.conv(h, 12, 4, 1), 4)))


@network
def squeeze_excite(n):
    x = n.input("x", [2, 6, 5, 5])
    h = n.op("HardSwish", n.conv(x, 6, 6, 3, groups=6))
    gate = n.conv(n.op("Relu", n.conv(n.op("GlobalAveragePool", h), 6, 3, 1)), 3, 6, 1)
    n.output(n.op("Mul", h, n.op("HardSigmoid", gate, alpha=1 / 6, beta=0.5)))


@network
def unet_step(n):
    """Down by a pooling, up by transposed convolutions of several strides and paddings, and side by side again."""
    x = n.input("x", [1, 3, 8, 8])
    left = n.op("Relu", n.conv(x, 3, 4, 3))
    down = n.op("Relu", n.conv(n.op("MaxPool", left, kernel_shape=[2, 2], strides=[2, 2]), 4, 6, 3))
    ups = [n.op("ConvTranspose", down, n.weight(6, 2, 2, 2), n.weight(2), strides=[2, 2], kernel_shape=[2, 2]),
           n.op("ConvTranspose", down, n.weight(6, 2, 4, 4), n.weight(2), strides=[2, 2], pads=[1, 1, 1, 1]),
           n.op("ConvTranspose", down, n.weight(6, 1, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])]
    n.output(n.conv(n.op("Concat", left, *ups, axis=1), 9, 2, 3))
    n.output(n.op("ConvTranspose", down, n.weight(6, 1, 5, 3), strides=[3, 2], dilations=[1, 2], group=2))
    n.output(n.op("ConvTranspose", down, n.weight(6, 1, 3, 3), strides=[3, 3], pads=[0, 3, 0, 3]))


@network
def group_norm(n):
    """A reshape to groups, InstanceNormalization, and back to the shape that is asked of the tensor."""
    x = n.input("x", [("batch", 2), 6, 3, 3])
    groups = n.op("Reshape", x, n.integers(0, 3, -1))
    normal = n.op("InstanceNormalization", groups, n.constant([1.0] * 3), n.constant([0.0] * 3), epsilon=1e-5)
    back = n.op("Reshape", normal, n.op("Shape", x))
    n.output(n.op("Add", n.op("Mul", back, n.positive(6, 1, 1)), n.weight(6, 1, 1)))


@network
def resizes(n):
    x = n.input("x", [1, 2, 4, 3])
    twice = n.constant([1.0, 1.0, 2.0, 2.0])
    nearest = n.op("Resize", x, "", twice, mode="nearest", coordinate_transformation_mode="asymmetric",
                   nearest_mode="floor")
    linear = n.op("Resize", x, "", twice, mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
    n.output(n.conv(n.op("Add", nearest, linear), 2, 2, 3))
    spatial = n.op("Concat", n.slice(n.op("Shape", x), 0, 2, 0), n.integers(5, 7), axis=0)
    n.output(n.op("Resize", x, "", "", spatial, mode="linear", coordinate_transformation_mode="align_corners"))


@network
def depthwise_separable(n):
    x = n.input("x", [1, 4, 7, 7])
    h = n.op("Relu", n.batch_norm(n.conv(x, 4, 4, 3, groups=4, strides=[2, 2]), 4))
    n.output(n.op("LeakyRelu", n.batch_norm(n.conv(h, 4, 6, 1), 6), alpha=0.1))


@network
def dilated(n):
    """Several dilations side by side, padding that differs by side, and one that is found by itself."""
    x = n.input("x", [1, 3, 9, 8])
    parts = [n.conv(x, 3, 2, 3, dilations=[d, d], pads=[d, d, d, d]) for d in (1, 2, 3)]
    h = n.op("Elu", n.op("Concat", *parts, axis=1), alpha=0.7)
    n.output(n.op("Conv", h, n.weight(2, 6, 3, 2), dilations=[2, 1], strides=[2, 3], pads=[0, 1, 2, 1]))
    n.output(n.op("Conv", h, n.weight(2, 3, 3, 3), strides=[2, 2], group=2, auto_pad="SAME_UPPER"))


@network
def poolings(n):
    """Greatest values below zero at padded edges, means without padding, and windows that go beyond the end."""
    x = n.op("Sub", n.input("x", [1, 3, 7, 6]), n.constant(2.0))
    n.output(n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
    n.output(n.op("MaxPool", x, kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1))
    n.output(n.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
    n.output(n.op("AveragePool", x, kernel_shape=[3, 2], strides=[1, 2], pads=[1, 0, 1, 0], count_include_pad=1))


@network
def dense_block(n):
    """All results before are joined for the next layer: more parts, and more terms, than a stage has reads."""
    x = n.input("x", [("batch", 1), 3, 4, 4])
    parts = [x]
    for _ in range(20):
        parts.append(n.op("Relu", n.conv(n.op("Concat", *parts, axis=1), 3 + 2 * (len(parts) - 1), 2, 1)))
    wide = n.op("LpNormalization", n.op("Concat", *parts, axis=1), axis=1, p=2)
    n.output(n.conv(wide, 43, 2, 3))
    n.output(n.op("Sum", *parts[1:]))
    n.output(n.op("Max", *parts[1:]))


@network
def classifier(n):
    x = n.input("x", [("batch", 3), 8, 4, 4])
    flat = n.op("Flatten", n.op("GlobalAveragePool", n.op("Relu", n.conv(x, 8, 8, 3))), axis=1)
    y = n.op("Gemm", flat, n.weight(5, 8), n.weight(5), transB=1)
    n.output(n.op("LogSoftmax", y, axis=-1))
    n.output(n.op("ArgMax", y, axis=1, keepdims=0), TensorProto.INT64)


@network
def super_resolution(n):
    x = n.input("x", [1, 1, 4, 5])
    h = n.op("PRelu", n.conv(x, 1, 6, 3), n.positive(6, 1, 1))
    padded = n.op("Pad", h, n.integers(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect")
    n.output(n.op("DepthToSpace", n.conv(padded, 6, 4, 3, pads=[0, 0, 0, 0]), blocksize=2, mode="CRD"))


# --- the rest


@network
def shape_arithmetic(n):
    """What an exporter leaves where the sizes of a network were expressions."""
    x = n.input("x", [("batch", 2), ("seq", 3), 4])
    batch, seq = n.size(x, 0), n.size(x, 1)
    double = n.op("Mul", seq, n.integers(2))
    flat = n.op("Reshape", x, n.op("Concat", batch, n.integers(-1), axis=0))
    pairs = n.op("Reshape", flat, n.op("Concat", batch, double, n.integers(2), axis=0))
    # expand(): where the wanted shape is -1 it is 1
    wanted = n.op("Concat", batch, n.integers(-1), n.integers(2), axis=0)
    ones = n.op("ConstantOfShape", n.op("Shape", wanted), value=helper.make_tensor("one", TensorProto.INT64, [1], [1]))
    minus = n.op("Mul", ones, n.constant(-1, np.int64))
    shape = n.op("Where", n.op("Equal", wanted, minus), ones, wanted)
    bias = n.op("Expand", n.weight(1, 6, 1), shape)
    y = n.op("Add", pairs, bias)
    n.output(y)
    half = n.op("Div", n.op("Gather", n.op("Shape", y), n.constant(1, np.int64), axis=0), n.constant(2, np.int64))
    middle = n.op("Cast", n.op("Floor", n.op("Cast", half, to=TensorProto.FLOAT)), to=TensorProto.INT64)
    n.output(n.op("Slice", y, n.integers(0), n.op("Unsqueeze", middle, n.integers(0)), n.integers(1)))
    n.output(n.op("Tile", y, n.op("Concat", n.integers(1), batch, n.integers(1), axis=0)))


@network
def sequence_mix(n):
    """A mix along time without a recurrence: the step before, gates, a running mean, a causal convolution."""
    x = n.input("x", [2, 6, 4])
    before = n.slice(n.op("Pad", x, n.integers(0, 1, 0, 0, 0, 0)), 0, -1, 1)
    mix = n.op("Sigmoid", n.weight(4))
    mixed = n.op("Add", n.op("Mul", x, mix), n.op("Mul", before, n.op("Sub", n.constant(1.0), mix)))
    gate = n.op("Sigmoid", n.op("MatMul", mixed, n.weight(4, 4)))
    sums = n.op("CumSum", n.op("Mul", gate, mixed), n.constant(1, np.int64))
    steps = n.op("CumSum", n.constant(np.ones((6, 1))), n.constant(0, np.int64))
    running = n.op("Div", sums, steps)
    time_last = n.op("Transpose", running, perm=[0, 2, 1])
    causal = n.op("Conv", time_last, n.weight(4, 1, 3), n.weight(4), group=4, pads=[2, 0])
    n.output(n.op("Transpose", n.op("Softplus", causal), perm=[0, 2, 1]))


@network
def int8_weights(n):
    """Weights of eight bits, a scale a column, in the product; activations that were of eight bits for a moment."""
    x = n.input("x", [3, 8])
    weights = n.constant(n.random.randint(-128, 128, (8, 6)), np.int8)
    scales = n.constant(n.random.uniform(0.003, 0.01, 6))
    y = n.op("MatMul", x, n.op("DequantizeLinear", weights, scales, n.constant([0] * 6, np.int8), axis=1))
    scale, zero = n.constant(0.03), n.constant(120, np.uint8)
    narrow = n.op("DequantizeLinear", n.op("QuantizeLinear", y, scale, zero), scale, zero)
    more = n.constant(n.random.randint(0, 256, (6, 4)), np.uint8)
    n.output(n.op("MatMul", narrow, n.op("DequantizeLinear", more, n.constant(0.005), n.constant(131, np.uint8))))


def made(name):
    n = Net(name)
    NETWORKS[name](n)
    return n


def write(n, folder):
    (folder / "data").mkdir(parents=True, exist_ok=True)
    onnx.save(n.model(), str(folder / "model.onnx"))
    for i, tensor in enumerate(n.values):
        (folder / "data" / f"input_{i}.pb").write_bytes(tensor.SerializeToString())


def main():
    folder = Path(sys.argv[1])
    for name in NETWORKS:
        n = made(name)
        write(n, folder / name)


if __name__ == "__main__":
    main()
