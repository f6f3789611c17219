// SPDX-License-Identifier: Apache-2.0
// The text of kernels: one golden, and its parts one by one.

#include "backends/cuda/emit.h"

#include <filesystem>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/detail/formula.h"
#include "backends/cuda/detail/prelude.h"
#include "backends/cuda/installed.h"
#include "backends/cuda/process.h"
#include "lower/kernel_builder.h"
#include "tests/support/expected.h"
#include "tests/support/paths.h"
#include "tests/unit/backends_cuda/samples.h"

namespace tilescope::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::Affine;

std::string kernels_of(const Emitted& e) { return std::string(e.kernels_text()); }

std::string head_of(const Emitted& e) { return e.text.substr(0, e.text.find("\n\n") + 2); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST(Emit, AsInTheGoldenFile) {
  const Emitted e = emit(tests::matmul({37, 22, 18, 2, 2, true}), "C[m,n] +=! A[m,k] * B[k,n]\n");
  tests::expect_text_of_file(head_of(e) + kernels_of(e), tests::source_path("tests/unit/backends_cuda/matmul.cu.txt"));
}

TEST(Emit, HeadPreludeAndKernelsAreTheText) {
  const Emitted e = emit(tests::matmul({}), "first\nsecond");
  EXPECT_EQ(e.text, head_of(e) + prelude_for(kernels_of(e), Dialect::kCuda) + "\n" + kernels_of(e));
  EXPECT_THAT(head_of(e), AllOf(HasSubstr("// first\n// second\n"), HasSubstr("matmul<<<4, 64, 1408>>>(A, B, C)")));
  const auto lines = lines_of(e.text.substr(0, e.kernels_begin));
  EXPECT_EQ(static_cast<std::size_t>(e.kernels_line), lines.size() + 1);
}

TEST(Emit, EveryCopyBeginsOnItsLine) {
  for (const tests::Sample& s : tests::samples()) {
    if (s.name == "taken names") continue;
    const Emitted e = emit(s.module, s.name);
    const auto lines = lines_of(e.text);
    for (std::size_t k = 0; k < e.kernels.size(); ++k) {
      const lower::Kernel& kernel = s.module.kernels[k];
      const auto copies = lower::copies_of(kernel);
      ASSERT_EQ(e.kernels[k].copy_lines.size(), copies.size());
      for (std::size_t c = 0; c < copies.size(); ++c) {
        std::string line;
        for (auto n = static_cast<std::size_t>(e.kernels[k].copy_lines[c] - 1); !line.ends_with(';'); ++n)
          line += lines.at(n);
        const auto name = [&](int b) { return "&" + kernel.buffers[static_cast<std::size_t>(b)].name + "["; };
        EXPECT_THAT(line, AllOf(HasSubstr(name(copies[c]->to.buffer)), HasSubstr(name(copies[c]->from.buffer))));
      }
    }
  }
}

TEST(Emit, SaysHowAKernelIsLaunched) {
  const tests::Sample s = tests::strided_sample();
  const EmittedKernel k = emit(s.module).kernels.at(0);
  EXPECT_EQ(k.name, "strided");
  EXPECT_EQ(k.blocks, 5);
  EXPECT_EQ(k.threads, 48);
  EXPECT_EQ(k.globals, (std::vector<int>{0, 1}));
  EXPECT_EQ(k.scalars, (std::vector<int>{0}));
}

TEST(Emit, AKernelMayHaveNoArrays) {
  lower::KernelBuilder k("computes", 4, 32);
  const int from = k.registers("from", 1), to = k.registers("to", 1);
  k.add(lower::assign({to, {}}, {from, {}}));
  EXPECT_THAT(kernels_of(emit(std::move(k).take(), "")), HasSubstr(" computes() {\n  float from[1];\n"));
}

TEST(Emit, TakenNamesAreReplaced) {
  const std::string text = kernels_of(emit(tests::taken_names_sample().module));
  EXPECT_THAT(text, AllOf(HasSubstr(" for_2(const float* __restrict__ load_2, float* __restrict__ int_2,"),
                          HasSubstr(" float thread) {\n  const int thread_2 = threadIdx.x;\n")));
  EXPECT_THAT(text, HasSubstr("load<1>(&load_3[0], &load_2[thread_2]);"));
  EXPECT_THAT(text, HasSubstr("load_3[0] += thread;"));
}

// One loop that copies with this loop's index scaled.
std::string scaled(std::int64_t extent, std::int64_t scale, std::int64_t unroll = 0) {
  tests::KernelMaker k("scaled", 1, 1);
  const int in = k.global("I", extent * scale, lower::Role::kInput);
  const int r = k.registers("value", 1), i = k.loop("i", extent);
  tests::Body inner, body;
  inner.push_back(tests::copy(r, {}, in, k.at(i) * scale + lower::constant(1)));
  body.push_back(tests::looped(i, std::move(inner), unroll));
  return kernels_of(emit(k.finish(std::move(body))));
}

TEST(Emit, UsesSixtyFourBitsOnlyWhereTheyAreNeeded) {
  EXPECT_THAT(scaled(1 << 15, (1 << 16) - 1), HasSubstr("&I[i*65535 + 1]"));
  EXPECT_THAT(scaled((1 << 15) + 2, 1 << 16), HasSubstr("&I[i*65536LL + 1]"));
  EXPECT_THAT(scaled(std::int64_t{1} << 32, 1), HasSubstr("for (long long i = 0; i < 4294967296; ++i)\n"));
}

TEST(Emit, UnrollsAsTheLoopSays) {
  EXPECT_THAT(scaled(8, 1, 8), HasSubstr("#pragma unroll\n"));
  EXPECT_THAT(scaled(8, 1, 4), HasSubstr("#pragma unroll 4\n"));
  EXPECT_THAT(scaled(8, 1, 0), Not(HasSubstr("#pragma")));
}

TEST(Emit, DividesDownwardsWhereANumberMayBeNegative) {
  tests::KernelMaker k("down", 1, 32);
  const int in = k.global("I", 64, lower::Role::kInput);
  const int r = k.registers("value", 1);
  const Affine below = lower::constant(5) - k.thread();
  tests::Body body;
  body.push_back(tests::copy(r, {}, in, k.quotient(below, 3, 0, "third") + lower::constant(20)));
  body.push_back(tests::copy(r, {}, in, k.quotient(k.thread(), 3, 4, "digit")));
  const std::string text = kernels_of(emit(k.finish(std::move(body))));
  EXPECT_THAT(text, HasSubstr("const int third = floor_div(-thread + 2, 3);"));
  EXPECT_THAT(text, HasSubstr("const int digit = thread / 3 % 4;"));
}

TEST(Emit, AnIndexIsDefinedWhereItIsKnownAndUsed) {
  const auto lines = lines_of(kernels_of(emit(tests::pipeline_sample(3).module)));
  const auto at = [&](const std::string& text) {
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.find(text) != l.npos; });
    EXPECT_NE(found, lines.end()) << text;
    return found - lines.begin();
  };
  EXPECT_EQ(at("const int next_slot ="), at("for (int step") + 1);
  EXPECT_EQ(at("const int slot ="), at("for (int step") + 2);
  EXPECT_LT(at("const int block = blockIdx.x;"), at("float* const ring = shared_array<float>(0);"));
}

TEST(Emit, ThePreludesAreTheFiles) {
  for (const char* file : {"prelude.cuh", "prelude_hip.cuh", "matrices.cuh", "wgmma.cuh"})
    EXPECT_NE(prelude_source().find(tests::text_of_file(tests::source_path(std::string("backends/cuda/") + file))),
              std::string_view::npos)
        << file;
}

// The mechanism, on a source of the test's own.
TEST(Prelude, ATextTakesWhatItNames) {
  const std::string source =
      "// About the source.\n\n#if defined(__CUDACC__)\n#define TILESCOPE_FORM __device__\n#else\n"
      "#define TILESCOPE_FORM inline\n#endif\n\n// One.\nTILESCOPE_FORM int one(int x) {\n#if X > 1\n  x += two;\n"
      "#endif\n  return x;  // three\n}\nstruct four {\n  int at[5];\n};\n\n#if !defined(two)\n#define two 2\n"
      "#endif\ntemplate <int N, class T = four>\nTILESCOPE_FORM T five(T x) {\n  return one(\"four }\");\n}\n";
  const std::vector<Definition> all = definitions_in(source, Dialect::kCuda);
  ASSERT_EQ(all.size(), 4U);
  const auto names = [&](std::size_t i) { return all[i].names; };
  EXPECT_THAT(names(0), testing::ElementsAre("one"));
  EXPECT_THAT(names(1), testing::ElementsAre("four"));
  EXPECT_THAT(names(2), testing::ElementsAre("two"));
  EXPECT_THAT(names(3), testing::ElementsAre("five"));
  EXPECT_EQ(all[0].text,
            "// One.\n__device__ int one(int x) {\n#if X > 1\n  x += two;\n#endif\n  return x;  // three\n}\n");
  EXPECT_THAT(all[0].mentioned, AllOf(testing::Contains("two"), Not(testing::Contains("three"))));
  EXPECT_THAT(all[3].mentioned, AllOf(testing::Contains("one"), testing::Contains("four")));
  EXPECT_TRUE(all[1].close && !all[2].close);
  EXPECT_THAT(definitions_in(source, Dialect::kCpu)[0].text, HasSubstr("\ninline int one(int x) {"));
}

// Every name is defined before it is used, and every definition is named.
TEST(Prelude, OfEverySampleIsWhatItNeeds) {
  for (const tests::Sample& s : tests::samples(90))
    for (const Dialect dialect : {Dialect::kCuda, Dialect::kHip}) {
      if (!refusals(s.module, dialect).empty()) continue;
      const std::string text = emit(s.module, {}, dialect).text;
      EXPECT_THAT(text, Not(HasSubstr("TILESCOPE"))) << s.name;
      for (const Definition& d : definitions_in(prelude_for(text, dialect), dialect)) {
        const auto uses = [&](const std::string& name) {
          const std::string word = "\\b" + name + "\\b";
          const std::regex whole(word);
          return std::distance(std::sregex_iterator(text.begin(), text.end(), whole), std::sregex_iterator()) > 1;
        };
        EXPECT_TRUE(std::any_of(d.names.begin(), d.names.end(), uses)) << s.name << ": " << d.text;
      }
    }
}

TEST(Emit, MatricesBringTheirPrelude) {
  const std::string text = emit(tests::matrices_sample().module).text;
  EXPECT_NE(text.find("ldmatrix<rows_32x8>(&A_part[0], &A_tile["), text.npos);
  EXPECT_NE(text.find("ldmatrix<rows_16x8_transposed>(&B_part[0], &B_tile["), text.npos);
  EXPECT_NE(text.find("mma<mma_f16>(&D_part[0], &A_part[4], &B_part[2]);"), text.npos);
  EXPECT_THAT(text, HasSubstr(" void ldmatrix("));
  EXPECT_THAT(emit(tests::strided_sample().module).text, Not(HasSubstr("ldmatrix")));
}

TEST(Emit, FactorsInTheScratchpadBringTheirInstructions) {
  const std::string text = emit(tests::staged_sample("C[m,n] +=! A[m,k] * B[k,n]", "f16").module).text;
  EXPECT_NE(text.find("struct wgmma_of<wgmma_f16, 64, false, true> {"), text.npos);
  EXPECT_NE(text.find("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"), text.npos);
  EXPECT_NE(text.find("wgmma<wgmma_f16, 64, false, true>(&C_part[0], &A_tile["), text.npos);
  EXPECT_THAT(text, HasSubstr(" wgmma_descriptor("));
  EXPECT_THAT(emit(tests::matrices_sample().module).text, Not(HasSubstr("wgmma")));
}

// nvcc of the PATH or of the toolkit's usual folder.
std::string nvcc() {
  for (const char* candidate : {"nvcc", "/usr/local/cuda/bin/nvcc"})
    if (run_program({candidate, "--version"}).ok()) return candidate;
  return "";
}

// The kernels and what is defined for them alone.
std::string own_text(const Emitted& e, Dialect dialect) {
  const std::string prelude = prelude_for(e.text, dialect);
  const std::size_t at = e.text.find(prelude);
  EXPECT_NE(at, std::string::npos);
  return e.text.substr(at + prelude.size());
}

// All samples that a chip of sm_75, or a later one, can run in one text, each under a name of its own.
std::string all_samples(Dialect dialect, int sm = 75) {
  std::string text;
  for (const tests::Sample& s : tests::samples(sm)) {
    if (!refusals(s.module, dialect).empty()) continue;
    const Emitted e = emit(s.module, {}, dialect);
    std::vector<std::string> names = e.definitions;
    for (const EmittedKernel& k : e.kernels) names.push_back(k.name);
    for (const std::string& name : names)
      text += "#define " + name + " " + name + "_" + std::to_string(text.size()) + "\n";
    text += own_text(e, dialect);
    for (const std::string& name : names) text += "#undef " + name + "\n";
  }
  return prelude_for(text, dialect) + text;
}

TEST(Emit, NvccTakesEverySampleForTwoArchitectures) {
  const std::string compiler = nvcc();
  if (compiler.empty()) GTEST_SKIP() << "nvcc is neither in PATH nor in /usr/local/cuda/bin";
  const TemporaryFolder folder;
  std::vector<std::vector<std::string>> commands;
  for (const int sm : {75, 80}) {  // without and with asynchronous copies
    const std::string arch = "sm_" + std::to_string(sm), text = folder.file(arch + ".cu");
    ASSERT_TRUE(write_file(text, all_samples(Dialect::kCuda, sm)));
    commands.push_back({compiler, "-arch=" + arch, "-cubin", "-Werror", "all-warnings", "-o", folder.file(arch), text});
  }
  for (const Finished& f : run_programs(commands, machine_cores())) EXPECT_TRUE(f.ok()) << f.output;
}

TEST(EmitHip, ThePreludeHasAnotherHead) {
  const std::string hip = whole_prelude(Dialect::kHip), cuda = whole_prelude(Dialect::kCuda);
  for (const char* both : {"struct f16 {", "struct tf32 {", "float to_odd(double x) {"}) {
    EXPECT_THAT(hip, HasSubstr(both));
    EXPECT_THAT(cuda, HasSubstr(both));
  }
  EXPECT_THAT(hip, AllOf(HasSubstr("#define expf __ocml_exp_f32\n"), Not(HasSubstr("asm volatile"))));
  EXPECT_THAT(cuda, AllOf(HasSubstr("__shfl_xor_sync"), Not(HasSubstr("__builtin_amdgcn"))));
}

TEST(EmitHip, KernelsAreTheSameButForTheirBounds) {
  lower::Module m = tests::matmul({});
  const Emitted cuda = emit(m), hip = emit(m, {}, Dialect::kHip);
  EXPECT_EQ(kernels_of(hip), kernels_of(cuda));
  EXPECT_THAT(kernels_of(hip), HasSubstr("void __launch_bounds__(64) matmul("));
  const auto lines = lines_of(hip.text);
  EXPECT_THAT(lines.at(static_cast<std::size_t>(hip.kernels.at(0).copy_lines.at(0) - 1)), HasSubstr("load"));
  m.kernels.front().registers = 40;
  EXPECT_THAT(kernels_of(emit(m)), HasSubstr("void __maxnreg__(40) matmul("));
  EXPECT_THAT(kernels_of(emit(m, {}, Dialect::kHip)), HasSubstr("void __launch_bounds__(64) __maxnreg__(40) matmul("));
}

// For HIP's device code as assembly: linking it takes AMD's own linker and device library.
Finished compile_hip(const std::string& command, const std::string& target, const std::string& from,
                     const std::string& to) {
  return run_program({command, "-x", "hip", "--offload-arch=" + target, "--offload-device-only", "-nogpuinc",
                      "-nogpulib", "-Wall", "-Wextra", "-Werror", "-O1", "-S", "-o", to, from});
}

TEST(EmitHip, ClangTakesEverySampleForTwoArchitectures) {
  const HipCompiler compiler = find_hip_compiler();
  if (!compiler.refusal.empty()) GTEST_SKIP() << compiler.refusal;
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("all.hip"), all_samples(Dialect::kHip)));
  for (const std::string target : {"gfx906", "gfx90a"}) {
    const Finished f = compile_hip(compiler.command, target, folder.file("all.hip"), folder.file(target));
    ASSERT_TRUE(f.ok()) << f.output;
    const std::string code = file_bytes(folder.file(target));
    EXPECT_TRUE(code.find("global_load_dwordx4") != std::string::npos) << "four elements are one access";
    // Blocks of the samples are a warp of these chips at most.
    EXPECT_TRUE(code.find("; wave barrier") != std::string::npos);
  }
}

TEST(EmitHip, ClangTakesEveryFunctionOfThePrelude) {
  const HipCompiler compiler = find_hip_compiler();
  if (!compiler.refusal.empty()) GTEST_SKIP() << compiler.refusal;
  std::string text = whole_prelude(Dialect::kHip) +
                     "extern \"C\" __global__ void every(float* f, double* d, f16* h, bf16* b, tf32* t,\n"
                     "    f8e4m3* o, f8e5m2* p, f8e4m3fnuz* q, f8e5m2fnuz* r) {\n";
  for (const std::string name : {"exp", "log", "sqrt", "inverse_sqrt", "tanh", "erf", "sigmoid", "fabs", "relu"})
    text += "  *f++ = " + name + "f(*f);\n  *d++ = " + name + "(*d);\n";
  for (const std::string name : {"fmax", "fmin"})
    text += "  *f++ = " + name + "f(*f, f[1]);\n  *d++ = " + name + "(*d, d[1]);\n";
  text += "  *h = f16(fmaf(*f, *f, float(*b)));\n  *b = bf16(float(fma(*d, *d, to_i32(*d))));\n";
  text += "  *t = tf32(fmaf(*t, *f, *f));\n";
  text += "  *o = f8e4m3(*f); *f = *p; *p = f8e5m2(*f); *q = f8e4m3fnuz(float(*r)); *r = f8e5m2fnuz(to_odd(*d));\n}\n";
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("all.hip"), text));
  const Finished f = compile_hip(compiler.command, "gfx906", folder.file("all.hip"), folder.file("all.s"));
  ASSERT_TRUE(f.ok()) << f.output;
  const std::string code = file_bytes(folder.file("all.s"));
  for (const std::string name : {"exp_f32", "exp_f64", "tanh_f32", "erf_f64"})
    EXPECT_TRUE(code.find("__ocml_" + name) != std::string::npos) << name;
}

// What a kernel may take is what the assembly says that it takes.
TEST(EmitHip, BoundsReachTheCompiler) {
  const HipCompiler compiler = find_hip_compiler();
  if (!compiler.refusal.empty()) GTEST_SKIP() << compiler.refusal;
  lower::Module m = tests::matmul({});
  m.kernels.front().registers = 16;
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("one.hip"), emit(m, {}, Dialect::kHip).text));
  const Finished f = compile_hip(compiler.command, "gfx906", folder.file("one.hip"), folder.file("one.s"));
  ASSERT_TRUE(f.ok()) << f.output;
  const std::string code = file_bytes(folder.file("one.s"));
  const auto figure = [&](const std::string& key) {
    const std::size_t at = code.find(key);
    return at == std::string::npos ? -1 : std::stoi(code.substr(at + key.size()));
  };
  EXPECT_EQ(figure(".max_flat_workgroup_size:"), 64);
  EXPECT_EQ(figure(".vgpr_count:"), 16);
  EXPECT_GT(figure(".vgpr_spill_count:"), 0);
}

}  // namespace
}  // namespace tilescope::cuda
