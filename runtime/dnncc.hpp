/* SPDX-License-Identifier: MIT */
/* Models in C++ (from C++17 on): memory that frees itself, arguments that are looked at, errors as exceptions or as values.
 *
 *     #include "digits.h"                              // what dnncc wrote, with its descriptor; before this header
 *     #include <dnncc.hpp>
 *
 *     dnncc::model digits(digits_describe());          // owns the workspace
 *     std::array<float, DIGITS_IMAGE_ELEMS> image{};
 *     auto probabilities = digits.output<float>(0);    // a std::vector of as many elements as there are
 *     digits.run({image}, {probabilities});            // throws dnncc::error
 *     if (auto failed = digits.try_run({image}, {probabilities}))     // std::optional<dnncc::error>
 *             std::puts(failed->what());
 *
 * Inputs and outputs are std::span, std::vector, std::array, an array, or whatever else has data() and size(). Their types and
 * numbers of elements are compared with the model's. With --weights=file:
 *
 *     dnncc::model net(net_describe(), dnncc::weights::map("net.weights"));
 *
 * A model is moved, not copied. It is for one thread at a time; several may be made of one description, each with a workspace of
 * its own, and share weights. Code for the processor only: CUDA C and code that drives an accelerator are called as their own
 * headers say. Link libdnncc_runtime (`pkg-config dnncc-runtime`, CMake's dnncc::runtime). */
#ifndef DNNCC_HPP
#define DNNCC_HPP

#ifndef DNNCC_ABI_1
#error "include the header of a model first: it declares struct dnncc_model_1 (not with --no-descriptor)"
#endif

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "dnncc_runtime.h"

namespace dnncc {

/* What a run returned (a negative code that the model's header names), or 0: the arguments do not fit the model. */
class error : public std::runtime_error {
public:
        error(int code, const std::string &text) : std::runtime_error(text), code_(code) {}
        int code() const noexcept { return code_; }

private:
        int code_;
};

namespace detail {

/* ONNX's TensorProto.DataType, and the C++ type that holds one element: docs/interface.md */
struct element_type {
        std::int32_t type;
        const char *name, *holder;
};
inline constexpr element_type element_types[] = {
        { 1, "f32", "float" },         { 2, "u8", "std::uint8_t" },   { 3, "s8", "std::int8_t" },    { 4, "u16", "std::uint16_t" },
        { 5, "s16", "std::int16_t" },  { 6, "s32", "std::int32_t" },  { 7, "s64", "std::int64_t" },  { 9, "bool", "std::uint8_t or bool" },
        { 10, "f16", "std::uint16_t" }, { 11, "f64", "double" },      { 12, "u32", "std::uint32_t" }, { 13, "u64", "std::uint64_t" },
        { 16, "bf16", "std::uint16_t" }, { 22, "s4", "std::int8_t" },   { 21, "u4", "std::uint8_t" },
        { 26, "s2", "std::int8_t" },   { 25, "u2", "std::uint8_t" },
};

/* The types that a C++ type holds: `T` is the type itself or one of as many bits. */
template <class T> constexpr bool holds(std::int32_t type)
{
        using E = std::remove_cv_t<T>;
        switch (type) {
        case 1: return std::is_same_v<E, float>;
        case 11: return std::is_same_v<E, double>;
        case 9: return std::is_same_v<E, bool> || std::is_same_v<E, std::uint8_t>;
        case 3: case 22: case 26: return std::is_same_v<E, std::int8_t>;
        case 5: return std::is_same_v<E, std::int16_t>;
        case 6: return std::is_same_v<E, std::int32_t>;
        case 7: return std::is_integral_v<E> && std::is_signed_v<E> && sizeof(E) == 8;
        case 12: return std::is_same_v<E, std::uint32_t>;
        case 13: return std::is_integral_v<E> && std::is_unsigned_v<E> && sizeof(E) == 8;
        case 4: case 10: case 16: return std::is_same_v<E, std::uint16_t>;
        default: return std::is_same_v<E, std::uint8_t>;        /* u8, and the bits of what is shorter */
        }
}

struct workspace_free {
        std::size_t bytes;
        void operator()(void *memory) const noexcept { dnncc_workspace_free(memory, bytes); }
};
using memory = std::unique_ptr<void, workspace_free>;

/* whole pages, huge ones where the system gives them */
inline memory allocate(std::size_t bytes)
{
        memory made(dnncc_workspace_new(bytes), workspace_free{ bytes });
        if (!made)
                throw std::bad_alloc();
        return made;
}

enum region_kind { scratch = 0, state = 1, weights = 2 };

} // namespace detail

/* One of a model's inputs or outputs, as the model describes it. */
class tensor {
public:
        explicit tensor(const dnncc_tensor_1 &described) : described_(&described) {}
        std::string name() const { return described_->name; }
        std::int32_t type() const noexcept { return described_->type; }
        std::vector<std::int64_t> shape() const { return { described_->shape, described_->shape + described_->rank }; }
        std::size_t elements() const noexcept
        {
                std::size_t count = 1;
                for (std::int32_t axis = 0; axis < described_->rank; axis++)
                        count *= static_cast<std::size_t>(described_->shape[axis]);
                return count;
        }
        /* "f32 of 1 x 1 x 8 x 8" */
        std::string text() const
        {
                std::string said = "type " + std::to_string(type());
                for (const auto &known : detail::element_types)
                        said = known.type == type() ? known.name : said;
                for (std::int32_t axis = 0; axis < described_->rank; axis++)
                        said += (axis ? " x " : " of ") + std::to_string(described_->shape[axis]);
                return said;
        }

private:
        const dnncc_tensor_1 *described_;
};

namespace detail {

/* A range that the caller owns, without its type; Pointer: const void * or void * */
template <class Pointer> class view {
public:
        template <class Range, class = decltype(std::data(std::declval<Range &>())),
                  class = std::enable_if_t<!std::is_same_v<std::decay_t<Range>, view>>>
        view(Range &&range)                                     /* implicit: {image} */
                : data_(std::data(range)), size_(std::size(range)),
                  holds_(&holds<std::remove_pointer_t<decltype(std::data(range))>>)
        {
        }
        Pointer data() const noexcept { return data_; }
        std::size_t size() const noexcept { return size_; }
        bool holds_type(std::int32_t type) const { return holds_(type); }

private:
        Pointer data_;
        std::size_t size_;
        bool (*holds_)(std::int32_t);
};

} // namespace detail

using input = detail::view<const void *>;
using output = detail::view<void *>;

/* The file of --weights=file, in memory; copies share it. std::system_error where there is no such file, or not one of weights. */
class weights {
public:
        static weights map(const std::string &path) { return weights(path, dnncc_weights_map); }        /* the file's own pages */
        static weights load(const std::string &path) { return weights(path, dnncc_weights_load); }      /* a copy, on huge pages */
        const void *data() const noexcept { return held_.get(); }
        std::size_t size() const noexcept { return bytes_; }

private:
        weights(const std::string &path, const void *(*get)(const char *, std::size_t *))
        {
                const void *found = get(path.c_str(), &bytes_);
                if (!found)
                        throw std::system_error(errno, std::generic_category(), path);
                held_ = std::shared_ptr<const void>(found, [bytes = bytes_](const void *p) { dnncc_weights_unmap(p, bytes); });
        }
        std::size_t bytes_ = 0;
        std::shared_ptr<const void> held_;
};

class model {
public:
        explicit model(const dnncc_model_1 *description, std::optional<weights> file = std::nullopt)
                : description_(description), file_(std::move(file)), extents_(description->extent_count + std::size_t{ 1 })
        {
                for (std::uint32_t k = 0; k < description->region_count; k++)
                        add_region(description->regions[k]);
        }

        std::string name() const { return description_->name; }
        std::size_t input_count() const noexcept { return description_->input_count; }
        std::size_t output_count() const noexcept { return description_->output_count; }
        tensor input_tensor(std::size_t k) const { return tensor(port(description_->inputs, input_count(), k)); }
        tensor output_tensor(std::size_t k) const { return tensor(port(description_->outputs, output_count(), k)); }

        /* zeros, as many as an input or output has elements; T: a type that holds them */
        template <class T> std::vector<T> input(std::size_t k) const { return zeros<T>(input_tensor(k)); }
        template <class T> std::vector<T> output(std::size_t k) const { return zeros<T>(output_tensor(k)); }

        /* Extents that the caller gives, in the order in which inputs have them first, are set here before a run; behind a run
         * that went well, those that it counted follow them. Inputs and outputs have room for the bounds. */
        std::int64_t &extent(std::size_t k)
        {
                if (k >= description_->extent_count)
                        throw error(0, name() + " has " + std::to_string(description_->extent_count) + " extents");
                return extents_[k];
        }

        /* Begins a sequence of runs anew, where the model keeps state from one to the next (--state). */
        void reset() noexcept
        {
                for (std::uint32_t k = 0; k < description_->region_count; k++)
                        if (description_->regions[k].kind == detail::state && description_->regions[k].size)
                                std::memset(regions_[k], 0, description_->regions[k].size);
        }

        /* In the order of the model. */
        void run(std::initializer_list<dnncc::input> inputs, std::initializer_list<dnncc::output> outputs)
        {
                if (auto failed = try_run(inputs, outputs))
                        throw *failed;
        }
        std::optional<error> try_run(std::initializer_list<dnncc::input> inputs, std::initializer_list<dnncc::output> outputs)
        {
                from_.clear();
                to_.clear();
                if (auto wrong = gather("input", description_->inputs, input_count(), inputs, from_))
                        return wrong;
                if (auto wrong = gather("output", description_->outputs, output_count(), outputs, to_))
                        return wrong;
                if (int code = description_->run(regions_.data(), from_.data(), to_.data(), extents_.data()))
                        return error(code, name() + ": " + dnncc_error_text(code));
                return std::nullopt;
        }

private:
        void add_region(const dnncc_region_1 &region)
        {
                if (region.kind == detail::weights) {
                        if (!file_)
                                throw error(0, name() + ": wants weights: dnncc::weights::map(\"..\")");
                        regions_.push_back(const_cast<void *>(file_->data()));          /* which run only reads */
                } else if (region.kind == detail::scratch || region.kind == detail::state) {
                        memory_.push_back(detail::allocate(region.size));
                        regions_.push_back(memory_.back().get());
                        if (region.kind == detail::state && region.size)
                                std::memset(regions_.back(), 0, region.size);
                } else {
                        throw error(0, name() + ": is code for a device: its own header says how it is called");
                }
        }

        const dnncc_tensor_1 &port(const dnncc_tensor_1 *ports, std::size_t count, std::size_t k) const
        {
                if (k >= count)
                        throw error(0, name() + ": there is no tensor " + std::to_string(k) + " of " + std::to_string(count));
                return ports[k];
        }

        template <class T> std::vector<T> zeros(const tensor &t) const
        {
                if (!detail::holds<T>(t.type()))
                        throw wrong_type(t);
                return std::vector<T>(t.elements());
        }

        std::string about(const tensor &t) const { return name() + ": " + t.name() + " is " + t.text(); }
        error wrong_type(const tensor &t) const
        {
                const char *holder = "std::uint8_t";
                for (const auto &known : detail::element_types)
                        holder = known.type == t.type() ? known.holder : holder;
                return error(0, about(t) + ", for which the elements have to be " + holder);
        }

        template <class View, class Pointer>
        std::optional<error> gather(const char *what, const dnncc_tensor_1 *ports, std::size_t count, std::initializer_list<View> given,
                                    std::vector<Pointer> &pointers) const
        {
                if (given.size() != count)
                        return error(0, name() + ": has " + std::to_string(count) + " " + what + "s, not " + std::to_string(given.size()));
                for (const View &one : given) {
                        const tensor t(ports[pointers.size()]);
                        if (!one.holds_type(t.type()))
                                return wrong_type(t);
                        if (one.size() != t.elements())
                                return error(0, about(t) + ": " + std::to_string(t.elements()) + " elements, not " + std::to_string(one.size()));
                        pointers.push_back(one.data());
                }
                return std::nullopt;
        }

        const dnncc_model_1 *description_;
        std::optional<weights> file_;
        std::vector<detail::memory> memory_;
        std::vector<void *> regions_;
        std::vector<const void *> from_;        /* of the last run */
        std::vector<void *> to_;
        std::vector<std::int64_t> extents_;
};

} // namespace dnncc

#endif
