// SPDX-License-Identifier: Apache-2.0
// NVRTC's code and what its log says of it, beside what the code says of itself; skipped where there is no NVRTC.

#include "backends/cuda/nvrtc.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>

#include "backends/cuda/emit.h"
#include "backends/cuda/process.h"
#include "tests/support/cubin.h"
#include "tests/support/environment.h"
#include "tests/support/lowered.h"
#include "tests/unit/backends_cuda/samples.h"

namespace tilescope::tests {
namespace {

using cuda::DeviceCode;
using cuda::DeviceCompiler;
using cuda::KernelUsage;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    if (!compiler_.why_unsupported().empty()) GTEST_SKIP() << compiler_.why_unsupported();
  }

  std::size_t kept() const {
    const std::filesystem::directory_iterator files(folder_.path());
    return static_cast<std::size_t>(
        std::count_if(begin(files), end(files), [](const auto& f) { return f.path().extension() == ".cubin"; }));
  }

  // The first warning in the logs that are kept with the code; empty where there is none.
  std::string warnings() const {
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      const std::string bytes = cuda::file_bytes(file.path().string());
      std::istringstream log(bytes.substr(bytes.find('\n') + 1, std::strtoul(bytes.c_str(), nullptr, 10)));
      for (std::string line; std::getline(log, line);)
        if (line.find("warning") != std::string::npos) return line;
    }
    return {};
  }

  cuda::TemporaryFolder folder_;
  DeviceCompiler compiler_{folder_.path()};
};

// Reads `values` numbers, waits for the block and writes them in reverse: all of them live at once.
std::string many_live_values(int values, int max_registers) {
  const std::string n = std::to_string(values);
  return "extern \"C\" __global__ void __maxnreg__(" + std::to_string(max_registers) +
         ") reversed(float* x) {\n"
         "  float v[" +
         n + "];\n  #pragma unroll\n  for (int i = 0; i < " + n +
         "; ++i) v[i] = x[i * 1024 + threadIdx.x];\n"
         "  __syncthreads();\n  #pragma unroll\n  for (int i = 0; i < " +
         n + "; ++i) x[i * 1024 + threadIdx.x] = v[" + n + " - 1 - i];\n}\n";
}

TEST_F(Nvrtc, EveryEmittedKernelIsCompiledForEveryKindOfTarget) {
  for (const std::string target : {"sm_75", "sm_80", "sm_90a"}) {
    if (!compiler_.refusal_of(target).empty()) continue;
    for (const Sample& s : samples(target == "sm_75" ? 75 : target == "sm_80" ? 80 : 90)) {
      const cuda::Emitted emitted = cuda::emit(s.module);
      const DeviceCode code = compiler_.compile(emitted.text, target);
      ASSERT_TRUE(code.ok()) << s.name << " for " << target << ": " << code.error;
      EXPECT_EQ(warnings(), "") << s.name << " for " << target;
      ASSERT_EQ(code.kernels.size(), emitted.kernels.size()) << s.name;
      const auto registers = CubinReader(code.cubin).registers();
      for (const KernelUsage& k : code.kernels) {
        ASSERT_TRUE(registers.contains(k.name)) << s.name << ": " << k.name;
        EXPECT_EQ(k.registers, registers.at(k.name)) << s.name << " for " << target;
        EXPECT_GT(k.registers, 0) << s.name;
      }
    }
  }
}

// Rows as they stand, transposed, and element by element, of every dtype that matrices are multiplied of.
TEST_F(Nvrtc, ProgramsByMatrixInstructionsAreCompiledWithoutSpills) {
  const arch::ArchSpec a100 = chip("a100");
  for (const char* dtype : {"tf32", "f16", "bf16", "i8"})
    for (const char* op : {"C[m,n] +=! A[m,k] * B[n,k]", "C[m,n] +=! A[k,m] * B[k,n]"}) {
      const lower::Module m = lowered(program(matrix_product(op, dtype, R"(,"registers":128)"), a100), a100);
      for (const std::string target : {"sm_80", "sm_90a"}) {
        const DeviceCode code = compiler_.compile(cuda::emit(m).text, target);
        ASSERT_TRUE(code.ok()) << dtype << ' ' << op << " for " << target << ": " << code.error;
        EXPECT_EQ(warnings(), "") << dtype << ' ' << op << " for " << target;
        EXPECT_EQ(code.kernels.at(0).spill_store_bytes, 0) << dtype << ' ' << op << " for " << target;
      }
    }
}

TEST_F(Nvrtc, WhatDoesNotFitTheRegistersIsSpilled) {
  const DeviceCode fits = compiler_.compile(many_live_values(64, 128), "sm_80");
  const DeviceCode spills = compiler_.compile(many_live_values(64, 40), "sm_80");
  ASSERT_TRUE(fits.ok() && spills.ok()) << fits.error << spills.error;
  EXPECT_GT(fits.kernels.at(0).registers, 64);
  EXPECT_EQ(fits.kernels.at(0).spill_store_bytes, 0);
  const KernelUsage& k = spills.kernels.at(0);
  EXPECT_LE(k.registers, 40);
  // At least the values beyond the registers, four bytes each, once out and once back.
  EXPECT_GE(k.spill_store_bytes, (64 - 40) * 4);
  EXPECT_GE(k.spill_load_bytes, (64 - 40) * 4);
  EXPECT_EQ(k.stack_bytes, CubinReader(spills.cubin).frame_bytes().at("reversed"));
  EXPECT_GE(k.stack_bytes, (64 - 40) * 4);
}

TEST_F(Nvrtc, SharedMemoryThatTheTextDeclaresIsCounted) {
  const DeviceCode code = compiler_.compile(
      "extern \"C\" __global__ void k(float* x) {\n  __shared__ float s[300];\n  s[threadIdx.x] = x[threadIdx.x];\n"
      "  __syncthreads();\n  x[threadIdx.x] = s[299 - threadIdx.x];\n}\n",
      "sm_80");
  ASSERT_TRUE(code.ok()) << code.error;
  EXPECT_EQ(code.kernels.at(0).shared_bytes, 1200);
}

TEST_F(Nvrtc, AnErrorShowsTheLineOfTheText) {
  cuda::Emitted emitted = cuda::emit(matmul({}));
  const std::size_t barrier = emitted.text.find("__syncthreads();", emitted.kernels_begin);
  emitted.text.replace(barrier, 16, "__syncthreds();");
  const auto line =
      1 + std::count(emitted.text.begin(), emitted.text.begin() + static_cast<std::ptrdiff_t>(barrier), '\n');
  const DeviceCode code = compiler_.compile(emitted.text, "sm_80");
  EXPECT_FALSE(code.ok());
  EXPECT_THAT(code.error, HasSubstr("refuses line " + std::to_string(line) +
                                    ", '__syncthreds();': identifier \"__syncthreds\" is undefined"));
  EXPECT_EQ(kept(), 0U) << "what is refused is not kept";
}

// The assembler speaks of PTX; what is shown is the line that calls what it does not take.
TEST_F(Nvrtc, AnErrorOfTheAssemblerShowsTheLineOfTheText) {
  const DeviceCode code = compiler_.compile(
      "__device__ __forceinline__ void odd() {\n  asm volatile(\"no.such.instruction;\");\n}\n"
      "extern \"C\" __global__ void k(float* x) {\n  x[threadIdx.x] += 1;\n  odd();\n}\n",
      "sm_80");
  EXPECT_FALSE(code.ok());
  EXPECT_EQ(code.error,
            "NVRTC " + compiler_.version() + " for sm_80 refuses line 6, 'odd();': Unknown modifier '.such'");
}

TEST_F(Nvrtc, AnOptionThatItDoesNotTakeIsShown) {
  const DeviceCode code = compiler_.compile("extern \"C\" __global__ void k() {}", "sm_80a");
  EXPECT_FALSE(code.ok());
  EXPECT_THAT(code.error,
              AllOf(StartsWith("NVRTC " + compiler_.version() + " for sm_80a refuses "), HasSubstr("arch")));
}

TEST_F(Nvrtc, ATargetThatItDoesNotHaveIsRefusedWithThoseThatItHas) {
  EXPECT_THAT(compiler_.targets(), Contains("sm_80"));
  EXPECT_EQ(compiler_.refusal_of("sm_80"), "");
  EXPECT_EQ(compiler_.refusal_of("sm_90a"), "");
  for (const std::string wrong : {"sm_12", "gfx906", "", "a", "sm_"}) {
    EXPECT_THAT(compiler_.refusal_of(wrong),
                AllOf(StartsWith("'" + wrong + "' is no target of NVRTC " + compiler_.version() + ", which has sm_"),
                      HasSubstr("sm_80, ")));
    EXPECT_EQ(compiler_.compile("extern \"C\" __global__ void k() {}", wrong).error, compiler_.refusal_of(wrong));
  }
}

TEST_F(Nvrtc, CodeIsKeptByTextAndTarget) {
  const std::string text = many_live_values(8, 64), other = many_live_values(9, 64);
  const DeviceCode first = compiler_.compile(text, "sm_80");
  ASSERT_TRUE(first.ok()) << first.error;
  EXPECT_EQ(kept(), 1U);
  const DeviceCode again = DeviceCompiler(folder_.path()).compile(text, "sm_80");
  EXPECT_EQ(kept(), 1U);
  EXPECT_EQ(again.cubin, first.cubin);
  EXPECT_EQ(again.kernels, first.kernels);
  EXPECT_NE(compiler_.compile(other, "sm_80").cubin, first.cubin);
  EXPECT_NE(compiler_.compile(text, "sm_90").cubin, first.cubin);
  EXPECT_EQ(kept(), 3U);
}

// What is found is what was kept: a changed file shows in the answer; one that is no such file is made again.
TEST_F(Nvrtc, WhatIsKeptIsReadAndNotMadeAgain) {
  const std::string text = many_live_values(8, 64);
  const DeviceCode first = compiler_.compile(text, "sm_80");
  ASSERT_TRUE(first.ok()) << first.error;
  const std::string path = std::filesystem::directory_iterator(folder_.path())->path().string();
  ASSERT_TRUE(cuda::write_file(path, cuda::file_bytes(path) + "!"));
  EXPECT_EQ(compiler_.compile(text, "sm_80").cubin, first.cubin + "!");
  for (const std::string broken : {"", "12", "999999\nno such length", "x\nlog", "0\n"}) {
    ASSERT_TRUE(cuda::write_file(path, broken));
    EXPECT_EQ(compiler_.compile(text, "sm_80").cubin, first.cubin) << broken;
  }
}

TEST_F(Nvrtc, CompilesWhereNothingCanBeKept) {
  ASSERT_TRUE(cuda::write_file(folder_.file("taken"), ""));
  const DeviceCompiler compiler(folder_.file("taken"));
  const DeviceCode code = compiler.compile("extern \"C\" __global__ void k() {}", "sm_80");
  EXPECT_TRUE(code.ok()) << code.error;
}

TEST(NvrtcAbsent, IsOneSentence) {
  const cuda::TemporaryFolder folder;
  const EnvironmentVariable chosen("TILESCOPE_CUDA_PATH", folder.path());
  ASSERT_TRUE(cuda::write_file(folder.file("libnvrtc.so.13"), "no library"));
  const DeviceCompiler broken(folder.path());
  EXPECT_THAT(broken.why_unsupported(), AllOf(StartsWith("NVRTC, which compiles kernels for a GPU, is absent: "),
                                              HasSubstr(folder.file("libnvrtc.so.13"))));
  EXPECT_EQ(broken.compile("", "sm_80").error, broken.why_unsupported());
  std::filesystem::copy_file(cuda::Library({"libm.so.6"}).path(), folder.file("libnvrtc.so.13"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(DeviceCompiler(folder.path()).why_unsupported(),
            folder.file("libnvrtc.so.13") + " is too old to compile kernels: it has no nvrtcVersion");
}

TEST_F(Nvrtc, WarningsAreInTheKeptLogs) {
  EXPECT_TRUE(compiler_.compile("extern \"C\" __global__ void k() {}\n", "sm_80").ok());
  EXPECT_EQ(warnings(), "");
  EXPECT_TRUE(compiler_.compile("extern \"C\" __global__ void k() {\n  int unused = 0;\n}\n", "sm_80").ok());
  EXPECT_THAT(warnings(), AllOf(StartsWith("kernels.cu(2): warning #177-D: "), HasSubstr("\"unused\"")));
}

TEST(PtxasLog, OfSeveralKernelsAndOtherFunctions) {
  const std::string log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'second_part' for 'sm_90a'\n"
      "ptxas info    : Function properties for second_part\n"
      "ptxas         .     264 bytes stack frame, 336 bytes spill stores, 320 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 264 bytes cumulative stack size, 1024 bytes smem\n"
      "ptxas info    : Compiling entry function 'part' for 'sm_90a'\n"
      "ptxas info    : Function properties for part\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 96 registers, 8192 bytes smem, 376 bytes cmem[0]\n"
      "ptxas info    : Function properties for helper_of_part\n"
      "ptxas         .     16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n";
  EXPECT_THAT(cuda::usage_in(log),
              ElementsAre(KernelUsage{"second_part", 40, 264, 336, 320, 1024}, KernelUsage{"part", 96, 0, 0, 0, 8192}));
  EXPECT_THAT(cuda::usage_in(""), ElementsAre());
}

TEST(PtxasLog, FirstErrorWithTheTextsOwnWords) {
  const std::string text = "one\n  two\nthree\n";
  EXPECT_EQ(cuda::first_error_in("kernels.cu(1): warning #1: odd\n\nkernels.cu(2): error: wrong\n    two\n", text),
            "line 2, 'two': wrong");
  EXPECT_EQ(cuda::first_error_in("kernels.cu(9): error: wrong\n", text), "kernels.cu(9): error: wrong");
  EXPECT_EQ(cuda::first_error_in("nvrtc: error: invalid value\n", text), "nvrtc: error: invalid value");
  EXPECT_EQ(
      cuda::first_error_in("ptxas fatal   : Insufficient registers\nptxas fatal   : aborted due to errors\n", text),
      "ptxas fatal   : Insufficient registers");
  EXPECT_EQ(cuda::first_error_in("odd\nmore\n", text), "odd");
  const std::string about_ptx = "ptxas application ptx input, line 4; error   : wrong\n";
  EXPECT_TRUE(cuda::is_about_ptx(about_ptx));
  EXPECT_EQ(cuda::first_error_in(about_ptx, text), "ptxas application ptx input, line 4; error   : wrong");
  EXPECT_EQ(cuda::first_error_in(about_ptx, text, "\t.loc\t1 1 0\n\t.loc\t1 2 7\nmov\nadd\n\t.loc\t1 3 0\n"),
            "line 2, 'two': wrong");
  EXPECT_EQ(cuda::first_error_in(about_ptx, text, "\t.loc\t1 1 0, function_name $f, inlined_at 1 3 2\n1\n2\n3\n"),
            "line 3, 'three': wrong");
  EXPECT_EQ(cuda::first_error_in("", text), "no reason is given");
}

}  // namespace
}  // namespace tilescope::tests
