// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a cubin says of itself: an ELF file whose section .nv.info holds attributes of functions. Read from the bytes
// alone, so that what a compiler's log says has something to be compared with.

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::tests {

class CubinReader {
 public:
  explicit CubinReader(std::string_view bytes) : bytes_(bytes) {
    const auto head = at<Elf64_Ehdr>(0);
    if (bytes.substr(0, SELFMAG) != ELFMAG || head.e_ident[EI_CLASS] != ELFCLASS64)
      throw std::runtime_error("no ELF file of 64 bits");
    for (std::size_t i = 0; i < head.e_shnum; ++i)
      sections_.push_back(at<Elf64_Shdr>(head.e_shoff + i * sizeof(Elf64_Shdr)));
    names_ = sections_.at(head.e_shstrndx).sh_offset;
  }

  // By name of the function.
  std::map<std::string, std::uint32_t> registers() const { return attribute(0x2f); }
  std::map<std::string, std::uint32_t> frame_bytes() const { return attribute(0x11); }

  // How often a function has the instruction: since sm_70 one is of 16 bytes, its lowest 12 bits the operation.
  int instructions(const std::string& function, std::uint64_t operation) const {
    constexpr std::size_t kBytes = 16, kOperation = 0xfff;
    const Elf64_Shdr& text = section(".text." + function);
    int n = 0;
    for (std::size_t i = text.sh_offset; i < text.sh_offset + text.sh_size; i += kBytes)
      n += (at<std::uint64_t>(i) & kOperation) == operation;
    return n;
  }

 private:
  template <class T>
  T at(std::size_t offset) const {
    if (offset + sizeof(T) > bytes_.size()) throw std::runtime_error("the file ends early");
    T out;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }
  std::string text_at(std::size_t offset) const {
    return std::string(bytes_.substr(offset, bytes_.find('\0', offset) - offset));
  }

  const Elf64_Shdr& section(const std::string& name) const {
    for (const Elf64_Shdr& s : sections_)
      if (text_at(names_ + s.sh_name) == name) return s;
    throw std::runtime_error("no section " + name);
  }
  std::string symbol(std::uint32_t number) const {
    const std::size_t offset = section(".symtab").sh_offset + number * sizeof(Elf64_Sym);
    return text_at(section(".strtab").sh_offset + at<Elf64_Sym>(offset).st_name);
  }

  // Entries are a form, an attribute and 16 bits: of form 4 how many bytes follow, of others the value itself.
  std::map<std::string, std::uint32_t> attribute(std::uint8_t wanted) const {
    constexpr std::uint8_t kSized = 4;
    std::map<std::string, std::uint32_t> out;
    const Elf64_Shdr& info = section(".nv.info");
    for (std::size_t i = info.sh_offset; i < info.sh_offset + info.sh_size;) {
      const auto form = at<std::uint8_t>(i), attribute = at<std::uint8_t>(i + 1);
      if (form == kSized && attribute == wanted) out[symbol(at<std::uint32_t>(i + 4))] = at<std::uint32_t>(i + 8);
      i += 4 + (form == kSized ? at<std::uint16_t>(i + 2) : 0);
    }
    return out;
  }

  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::size_t names_ = 0;
};

}  // namespace tilescope::tests
