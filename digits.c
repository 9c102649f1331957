/* The model digits, compiled by dnncc 0.1.0 with -O2
 * source: SHA-256 7b38324d690f7bfc9c081e8f99d34058a86d8b5111b01aca4095155e6f730c6c
 * licence: yours; that of dnncc puts no condition on this file */
#include "digits.h"

#include <stddef.h>
#include <string.h>

#ifndef DIGITS_BUILD_EC55CBDD367596D8
#error "digits.h is of another build than this file"
#endif

/* Every operation is rounded as written: nothing is contracted, reordered, or kept in wider
 * registers. */
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "-ffast-math changes results: compile this file without it"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "excess precision changes results: compile this file with -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize ("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract (off)
#endif

/* Kernels stay functions: inside of one that holds them all, their loops run out of registers. */
#if defined(__GNUC__)
#define KERNEL __attribute__((noinline))
#else
#define KERNEL
#endif

/* Types of tensor memory. The workspace holds objects of different types at different times, so
 * compilers that deduce from types what cannot overlap are told not to; `restrict` says what
 * cannot. */
#if defined(__GNUC__)
#define MAY_ALIAS __attribute__((may_alias))
#else
#define MAY_ALIAS
#endif
typedef float MAY_ALIAS f32;

/* offsetof(struct align_T, value): the alignment of T */
struct align_f32 { char byte; float value; };

/* C's operators and conversions, made total */
static inline int32_t add_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
static inline int32_t sub_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
static inline ptrdiff_t min_index(ptrdiff_t a, ptrdiff_t b) { return b < a ? b : a; }
static inline ptrdiff_t max_index(ptrdiff_t a, ptrdiff_t b) { return b > a ? b : a; }
static inline float max_f32(float a, float b) { return b > a || b != b ? b : a; }
static inline float bits_f32(uint32_t a)
{
        float b;
        memcpy(&b, &a, sizeof b);
        return b;
}
static inline uint32_t bits_u32(float a)
{
        uint32_t b;
        memcpy(&b, &a, sizeof b);
        return b;
}

/* Mathematics, the same bits everywhere. */
/* error bound: 0.5 ulp */
static inline float scale_f32(float x, float k)
{
        const int32_t e = sub_i32((int32_t)bits_u32(k + 12582912.0f), 1262485504);
        const int32_t half = e >> 1;
        return x * bits_f32((uint32_t)add_i32(half, 127) << 23u) *
                bits_f32((uint32_t)add_i32(sub_i32(e, half), 127) << 23u);
}

/* error bound: 1.1 ulp */
static inline float exp_scaled_f32(float x, float n)
{
        const float above = x < -106.0f ? 0.0f : x;
        const float y = above > 91.0f ? 91.0f : above;
        const float shifted = y * 1.442695f + 12582912.0f;
        const float k = shifted - 12582912.0f;
        const float r = y - k * 0.69317627f - k * -2.9088971e-05f;
        const float q = 0.5f + r * (0.16666514f + r * (0.041666586f + r *
                (0.008369495f + r * 0.0013920808f)));
        const float p = 1.0f + (r + r * r * q);
        const float result = scale_f32(p, k - n);
        return x < -106.0f ? 0.0f : result;
}

/* error bound: 1.1 ulp */
static inline float exp_f32(float x)
{
        return exp_scaled_f32(x, 0.0f);
}

/* Rows of bytes are string literals without their final 0. */
#if defined(__clang__)
#if __has_warning("-Wunterminated-string-initialization")
#pragma clang diagnostic ignored "-Wunterminated-string-initialization"
#endif
#elif defined(__GNUC__) && __GNUC__ >= 15
#pragma GCC diagnostic ignored "-Wunterminated-string-initialization"
#endif
#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BIG_ENDIAN_MACHINE
#endif
#endif

static const union {
        struct { unsigned char tail[576]; } bytes;
        uint32_t bits[144];
        float values[144];
} conv1_w =
#ifdef BIG_ENDIAN_MACHINE
{ .bits = {
0x3d856ba2u,0x39c39f28u,0x3fa633acu,0xbf4745aeu,0x3da0999cu,0x3f3d5e69u,0x3e9d1c3du,0xbe2fccc3u,
0x3f633d63u,0xbe8a2651u,0xbf02724eu,0x3ed840dfu,0xbf08581fu,0xbf88b71fu,0x3f223142u,0x3f1c9f0cu,
0x3f1f6487u,0xbce0f568u,0xbbacbb0au,0xbf03b500u,0x3f5a85b5u,0x3eebf7a6u,0x3ef4e5e4u,0xbf6e3e5cu,
0x3f0e2b07u,0x3f6a7bdcu,0x3f277dc8u,0x3eec9db0u,0x3cfef106u,0xbdc06833u,0x3e83198du,0x3e7f9588u,
0x3e645566u,0xbe47b5c7u,0x3f51dae9u,0xbf238435u,0x3cdc3c67u,0xbec8d5d9u,0x3f0561d1u,0x3f435523u,
0x3f40c05cu,0x3eeecbbfu,0xbf2b69c0u,0x3f8fe55bu,0x3e6f5869u,0x3e1f3a1du,0x3e13eb2bu,0xbddb2359u,
0x3edcb190u,0x3e889813u,0xbe03b02du,0xbfa3d6b9u,0x3de3cf80u,0x3ed4182cu,0x3ed8fa7au,0x3dee1f7au,
0x3ec49d70u,0x3f2ce916u,0xbd586de3u,0x3f60c74fu,0xbf5313f9u,0xbf223660u,0xbeb1561fu,0xbf95c864u,
0xbef09ffeu,0x3f336ecfu,0x3f3c7feeu,0x3e0f154au,0x3f699911u,0x3e6b0e30u,0xbe4748cdu,0x3d62df09u,
0x3da00f53u,0x3ef24c99u,0xbf2aa54fu,0x3f26ae65u,0xbdbff936u,0x3f04ea79u,0xbf52e95fu,0xbe30c6a5u,
0x3dd174ecu,0x3ed8cb50u,0xbf2afb60u,0x3f4c73abu,0x3e722505u,0xbe1cd350u,0x3f36fcacu,0x3d5724aeu,
0x3f35a983u,0x3fa17689u,0x3ec057d2u,0xbebc2c76u,0xbe8f1475u,0x3e98a242u,0x3e402800u,0xbe939218u,
0xbe8be631u,0x3ef7d409u,0x3fa4e06du,0xbf977466u,0x3ef55b34u,0x3d805f04u,0x3f0f1bfeu,0x3f1cd4b9u,
0x3dc1ff27u,0xbeef091bu,0xbf132703u,0xbf671210u,0x3f3b40efu,0xbd7db3fau,0xbea986a2u,0xbc826f49u,
0xbf1cc48eu,0x3e4e8a05u,0x3f37fdd7u,0x3f337abau,0xbf1c5257u,0x3f6a098bu,0xbe0a34eeu,0xbf2a694bu,
0xbecf73e6u,0xbf16ed69u,0x3df84920u,0xbec4182eu,0xbefa99c3u,0x3d34aa39u,0x3f872589u,0xbe262113u,
0x3e88b08cu,0x3dfc6536u,0x3fb12b6cu,0xbf66c47du,0x3f037424u,0xbf382271u,0xbebf638du,0x3d23edfau,
0x3fd4d476u,0xbea56644u,0xbf5f19bbu,0x3f4202a2u,0xbea259f5u,0xbd839b2eu,0x3da72af7u,0x3e5c1327u,
} }
#else
{ {
"\242k\205=(\237\3039\2543\246\077\256EG\277\234\231\240=i^=\077=\034\235>\303\314/\276c=c\077Q&\212\276Nr\002\277\337@\330>\037X\010\277\037\267\210\277B1\042\077\014\237\034\077\207d\037\077h\365\340\274\012\273\254\273\000\265\003\277\265\205Z\077\246\367\353>\344\345\364>\134>n\277\007+\016\077\334{j\077\310}'\077\260\235\354>\006\361\376<3h\300\275\215\031\203>\210\225\177>fUd>\307\265G\276\351\332Q\0775\204#\277g<\334<\331\325\310\276\321a\005\077#UC\077\134\300@\077\277\313\356>\300i+\277[\345\217\077iXo>\035:\037>+\353\023>Y#\333\275\220\261\334>\023\230\210>-\260\003\276\271\326\243\277\200\317\343=,\030\324>z\372\330>z\037\356=p\235\304>\026\351,\077\343mX\275O\307`\077\371\023S\277`6\042\277\037V\261\276d\310\225\277\376\237\360\276\317n3\077\356\177<\077J\025\017>\021\231i\0770\016k>\315HG\276\011\337b=S\017\240=\231L\362>O\245*\277e\256&\0776\371\277\275y\352\004\077_\351R\277\245\3060\276\354t\321=P\313\330>`\373*\277\253sL\077\005%r>P\323\034\276\254\3746\077\256$W=\203\2515\077\211v\241\077\322W\300>v,\274\276u\024\217\276B\242\230>\000(@>\030\222\223\2761\346\213\276\011\324\367>m\340\244\077ft\227\2774[\365>\004_\200=\376\033\017\077\271\324\034\077'\377\301=\033\011\357\276\003'\023\277\020\022g\277\357@;\077\372\263}\275\242\206\251\276Io\202\274\216\304\034\277\005\212N>\327\3757\077\272z3\077WR\034\277\213\011j\077\3564\012\276Ki*\277\346s\317\276i\355\026\277 I\370=.\030\304\276\303\231\372\2769\2524=\211%\207\077\023!&\276\214\260\210>6e\374=l+\261\077}\304f\277$t\003\077q\0428\277\215c\277\276\372\355#=v\324\324\077Df\245\276\273\031_\277\242\002B\077\365Y\242\276.\233\203\275\367*\247='\023\134>"
} }
#endif
;
static const float conv1_b[16] = { 0.006071857f, 0.17807615f, 0.040840812f, 0.03952561f,
        0.014103604f, 0.1618489f, 0.13314366f, 0.057506032f, 0.11624459f, 0.015461624f,
        0.040005304f, 0.15963346f, 0.051572774f, 0.20670553f, 0.042480893f, 0.11395229f };

static const union {
        struct { unsigned char rows[9][2000], tail[432]; } bytes;
        uint32_t bits[4608];
        float values[4608];
} conv2_w =
#ifdef BIG_ENDIAN_MACHINE
{ .bits = {
0xbbe30d8au,0xbb41d869u,0x3d2ca9d0u,0x3de5c0c4u,0xbd830bc9u,0xbdcdce14u,0xbde003b3u,0x3dc2cf00u,
0xbbf6dd6au,0xbdb5c123u,0xbc963ea2u,0x3e871cc9u,0x3d74d05du,0x3d7e2b25u,0xbd63978au,0xbc92f734u,
0x3dd0e7efu,0xbdf6890au,0x3d61d77fu,0xbe2f2889u,0x3c06e3f9u,0xbeaeba56u,0xbe25f1c0u,0xbd302f1du,
0x3c8032b9u,0xbe401809u,0x3ca931e7u,0x3ddc4d9bu,0x3dd8c3c9u,0xbdb1b204u,0xbdc17623u,0xbdf88f90u,
0x3dbba61bu,0x3e56bbceu,0xbd9ab705u,0xbe3149dcu,0x3c9e5854u,0x3d83a3e6u,0xbeaf3ef4u,0xbc87d5efu,
0x3e8678f1u,0x3dfbc188u,0x3db0cf16u,0x3d265707u,0x3e0c1f81u,0x3d33c2f0u,0x3b0426c8u,0x3d27cacbu,
0xbc7d9eb9u,0x3dc51300u,0xbe773f98u,0xbbd27da6u,0x3d405239u,0xbd2f34bdu,0x3dbf8175u,0x3e554d30u,
0xbe4debe8u,0xbd195cbeu,0xbdecd1a4u,0xbe033b2cu,0xbe452a8bu,0x3befc3a6u,0x3c968e79u,0xbe540e20u,
0xbe7202a8u,0x3dd48ae3u,0x3ceec8b7u,0xbcc9feb5u,0x3d722519u,0x3d268f85u,0x3dd46534u,0x3d376901u,
0xbcd47a94u,0xbc389c72u,0xbe521427u,0xbd975983u,0x3e2af691u,0xbd8b7262u,0xbeb1e374u,0xbe0fbb2au,
0xbd391510u,0x3c74d2cdu,0xbdfad74fu,0x3d9385cau,0x3c9817a9u,0x3e1cc5a7u,0x3e88d810u,0x3eb8ab7eu,
0x3e28f699u,0xbe21f430u,0xbd77e7f0u,0x3d54953au,0x3e7ccd29u,0x3d27fc26u,0x3e32cd6cu,0xbc684de4u,
0x3db1f7a8u,0x3d8467a9u,0xbde4aba9u,0x3e83cfa3u,0x3c1e7731u,0xbe74ff70u,0x3da04542u,0x3e529ccau,
0x3d999a52u,0x3c9a6d2du,0xbde5197du,0xbd8f3d3fu,0xbb000762u,0xbcb8ea79u,0x3c758574u,0xbd6aac42u,
0xbe119825u,0xbdc2bb7au,0x3e0c6c72u,0xbd9d26b4u,0xbde771a4u,0x3e862bcau,0x3e4f7e17u,0x3cca4e89u,
0x3e89a8b3u,0x3d9df1beu,0x3e5d765du,0xbe1c8176u,0xbe0c6207u,0x3df8b769u,0xbd176de8u,0x3e2a2330u,
0xbd93f49du,0xbc619939u,0xbccef7a5u,0xbc92c9e3u,0xbcf67ff4u,0x3cedc03bu,0xbdc335eeu,0x3e359e74u,
0x3dc0c309u,0x3def3a8bu,0x3e5dc48bu,0xbe23aed3u,0x3de8bcecu,0x3df3ca11u,0xbd28f34cu,0x3e0958e1u,
0x3e551a16u,0xbdc7bc92u,0xbe5a19c8u,0x3b2e0716u,0x3e93f509u,0xbd1027feu,0xbdbefb93u,0xbdd2b5beu,
0xbe21d669u,0xbc4830f4u,0x3d2e7b09u,0xbe5f8e66u,0x3e3701f1u,0x3e146a5au,0xbe14474bu,0x3c5b7e27u,
0x3de13f43u,0xbe35a11du,0xbe273897u,0xbdea1c80u,0x3d04b0d0u,0x3de75389u,0x3d07370bu,0x3d2ad498u,
0x3e4eec16u,0x3db4542du,0xbda5cb0bu,0xbda52f97u,0x3e61c140u,0xbe0e89b7u,0x3d96dc2au,0xbcedfe53u,
0x3be1cb55u,0xbd76dfd6u,0xbe254702u,0x3ea12865u,0x3deb25b1u,0xbd298a07u,0xbd4a1b85u,0x3e1e66b1u,
0xbda24515u,0x3d095b55u,0x3c31d2f2u,0xbd678ad5u,0xbcf40a2bu,0xbc71a64du,0xbe303edcu,0xbdf7ad5eu,
0x3db2cc1au,0xbd47cfccu,0xbddeb0b2u,0x3da64c72u,0x3e092f89u,0xbdce6c0du,0xbe83433fu,0xbd07c172u,
0xbe485432u,0x3daa603cu,0x3e228b6au,0xbc9d4103u,0xbccc4223u,0x3c67269fu,0x3dbecff6u,0xbdf163d6u,
0x3db8d736u,0x3dc4e601u,0x3dee13cfu,0xbde9744cu,0x3d78d581u,0x3e37924eu,0xbe491688u,0x3e47a16bu,
0x3db811d5u,0x3c4dbdd5u,0xbe245ebfu,0x3d4db75du,0x3d9f11ceu,0x3d08a76fu,0xbe888f5bu,0x3dc50f3cu,
0xbd93a385u,0xbd0a378du,0xbaf4cc94u,0xbd01104du,0x3e70fbceu,0xbe53b983u,0xbba775dbu,0xbc9d5a2bu,
0x3dd31011u,0x3e9cea53u,0x3e041197u,0x3e8654edu,0xbdc13cf5u,0xbe2df104u,0xbe7cd600u,0xbe603648u,
0xbe0e450cu,0xbd08a977u,0x3e7b3841u,0xbd12cf61u,0x3d09e98du,0xbdd5c3c5u,0xbe18afb3u,0xbbb7b6dbu,
0x3dd172dau,0xbcc1a796u,0x3e71782eu,0xbd9a5d44u,0xbe69d4f3u,0xbd06e6e5u,0xbd04d8c3u,0x3eb27647u,
0x380d3e13u,0x3dfebda2u,0x3e3438ccu,0x3d802eb8u,0x3d4b8fffu,0x3de99862u,0xbe51173fu,0xbde9ead9u,
0x3db49634u,0xbd7e6e9fu,0x3dbf9ebeu,0xbc79beceu,0x3e00e57fu,0x3e0086a0u,0xbd907f3fu,0x3dc6b58eu,
0x3e353395u,0xbecfc8f2u,0x3cc11424u,0x3cc57389u,0xbcc77088u,0x3e1e0041u,0x3d78cc3du,0xbd4d3f14u,
0xbe255b11u,0xbe44b2fcu,0xbe69020cu,0x3e0c23e1u,0xbe6ae40bu,0xbe6c7b5cu,0xbe064e8fu,0xbe242632u,
0x3e0f4145u,0x3e9e3cabu,0xbd510379u,0x3d88043bu,0x3e1d09a1u,0x3e1ffde5u,0xbc8d65adu,0xbe33fe23u,
0xbda9a6f8u,0xbe692cd0u,0x3df622d6u,0x3e54f92du,0xbe841638u,0x3db2edc4u,0xbd71ae05u,0x3e076b34u,
0x3e213541u,0x3d42c9d0u,0xbd8fd2f7u,0xbcf8d997u,0x3e268f29u,0xbdb6aaebu,0xbca12883u,0x3e047ac6u,
0x3ce42a57u,0xbe05168fu,0xbdd127afu,0x3e13a0aau,0xbdade481u,0x3e14dcb9u,0x3e605320u,0xbd4a92b7u,
0xbd93bfaau,0xbce59f11u,0xbdc6f956u,0x3c0066d1u,0xbc975d5cu,0x3da810a8u,0xbce088d5u,0xbd21738fu,
0x3e7fec12u,0xbde1b3a7u,0xbda1b039u,0xbde472ebu,0xbdf6d7f4u,0xbe423b16u,0xbd8c50fdu,0xbde1cd99u,
0x3e0b5603u,0x3dece49bu,0x3e44b7ecu,0x3dea1b72u,0xbe152c70u,0x3da66c00u,0xbd89c5a2u,0xbd08668au,
0xbe783eaau,0x3e2ac74bu,0x3e180283u,0x3ebde99fu,0x3d78522au,0xbe0fc2c5u,0xbe1a44eeu,0x3db5a370u,
0xbda77283u,0x3e1a7cbbu,0xbd01dbacu,0x3eb2c93fu,0x3db750ddu,0x3df0a687u,0x3db1f005u,0xbe0f6712u,
0x3c9e836fu,0x3dc2330eu,0x3de58538u,0xbc499a1fu,0x3e8b63f9u,0x3ee88c13u,0xbbd1b3f0u,0x3e32b4bfu,
0x3d391097u,0x3e269dceu,0x3cba6187u,0x3e33abedu,0x3d81e379u,0xbcdc7c3fu,0xbd1047cdu,0xbd98ca46u,
0xbe3169ceu,0xbe3a8576u,0x3d8160b7u,0xbd68e58cu,0x3da9abfeu,0x3d8b5b46u,0xbd45783cu,0xbe02c2f0u,
0xbd497c85u,0xbded03ebu,0x3dd0514au,0xbd2b8ce7u,0xbe11b21cu,0xbd2c6db6u,0x3bffaf9eu,0x3d799107u,
0x3e16490au,0x3e236831u,0xbd93186cu,0x3e05a08fu,0x3e81faa9u,0x3e593693u,0xbe7afa45u,0x3cc3c89au,
0xbd828a81u,0xbcaa8012u,0xbe7627dbu,0x3e0767e1u,0xbdd1fe4eu,0x3e9fa81eu,0x3e778686u,0x3e1e7a53u,
0xbcaf497bu,0xbe932a3cu,0x3dd488c7u,0x3dbe06a1u,0x3da491e3u,0x3ed4bf54u,0x3bc73540u,0xbe49af13u,
0xbdb2e676u,0xbcb26fd3u,0x3bd4bb91u,0x3d93e111u,0xbd85fa61u,0x3d6dc7b5u,0x3e07d1cau,0xbd7561f4u,
0xbdf446ceu,0xbd02e2e4u,0xbd9a7d67u,0xbe9b3aeau,0x3d71fb56u,0x3cd559f3u,0x3c6ffd5bu,0xbe17f472u,
0x3e3638f5u,0xbc8b0398u,0xbe66d1e4u,0x3de64157u,0xbdf6f007u,0x3e405dc7u,0x3de01644u,0xbe028b87u,
0x3b017426u,0xbd844a9cu,0xbcb16a65u,0xbdb87e02u,0x3d87ffcdu,0xbda0d84cu,0x3de07d03u,0x3ebe91ceu,
0x3dd61da2u,0xbdc3b163u,0x3b19baddu,0xbdc71696u,0x3c33d546u,0xbe00a8a7u,0x3ca1d3a4u,0xbd741d50u,
0xbdd6727cu,0x3d9dc49cu,0xbe3fd545u,0x3888c873u,0xbd696bf3u,0x3e654cb3u,0x3e675b97u,0x3e372a43u,
0x3e6c49aeu,0x3dc2e800u,0x3dcd7dbbu,0xbd8da6c9u,0xbd6bbdddu,0x3d4450a5u,0xbddcb329u,0xbc218050u,
0x3ddb4f20u,0xbd62d312u,0xbe15d838u,0xbd3e0f8du,0xbdf8af0bu,0xbda3de0cu,0xbe2481e2u,0x3d0f7f88u,
0x3eb68881u,0xbe22c323u,0xbd9538a7u,0x3dd21bd8u,0xbe2f74dfu,0x3bb45415u,0x3e8aaa8eu,0x3d823f1du,
0x3e8ecb56u,0xbd9135d8u,0xbdc3f77fu,0x3dd3c61bu,0x3d4f2362u,0x3c88504cu,0x3d5a9376u,0xb999bd19u,
0xbe247a8fu,0xbc6bfc80u,0xbe845e06u,0x3e209ffdu,0xbc09f342u,0xbdceb419u,0x3c83f110u,0xbe03ec21u,
0x3d3541dbu,0xbdb38948u,0xbccc96d2u,0x3e1de1d9u,0x3e18f9edu,0xbd941562u,0xbd8b7588u,0x3bec188au,
0xbdebde47u,0x3db9e192u,0xbca8b2dcu,0xbe586dc1u,0x3e3e5928u,0x3e043a15u,0xbe215584u,0x3dc38270u,
0x3dacd731u,0x3db23d4du,0xbe0fba98u,0xbe303ea1u,0xbd69cea2u,0xbcfff702u,0xbba0dbfbu,0xbd072edeu,
0x3d7e13c9u,0xbdf105e8u,0xbc6eb1fcu,0x3e33e4aau,0x3cc5fa1au,0x3d68ffc5u,0x3dab1f93u,0x3e4d6a3au,
0xbd68dbceu,0x3e4cb5d2u,0x3c694720u,0x3cc17c5au,0x3e3a848fu,0x3da44ab6u,0x3e1f314du,0xbe4d1af0u,
0x3d87e4aeu,0x3e858948u,0xbcc1ef16u,0xbd9df20eu,0x3d150811u,0x3da4d027u,0xbd2f5574u,0xbdd2d788u,
0x3e375b60u,0xbe59813bu,0xbdefbb7du,0xbe27a355u,0x3e03eabbu,0x3ca6f1b7u,0x3e0c6f9eu,0x3defdb8eu,
0x3da4552fu,0xbe675973u,0x3e566205u,0x3e01dba0u,0xbbd40ae5u,0x3d5331e0u,0xbc624a90u,0xbd235eaeu,
0x3e46e704u,0xbceca67eu,0xbbfad716u,0x3d3f0ddeu,0xbd390822u,0x3ac6e900u,0x3e920f6fu,0x3d3ad800u,
0xbd12439fu,0xbe1c0a0du,0xbcb28766u,0xbda0afc8u,0x3c20b0d3u,0x3cfac93eu,0x3dc11074u,0x3d2265deu,
0xbd390d6au,0x3db87580u,0xbd9253cdu,0x3d9e4f82u,0x3dbe34e8u,0x3de76749u,0xbe4129e3u,0xbe12fe39u,
0xbe82338au,0x3e19e9d4u,0xbe206fdfu,0x3cb525b7u,0x3e7256a4u,0x3e3ce3a6u,0x3e5347cfu,0xbd4aa6deu,
0x3e39e542u,0x3ee46dc3u,0x3d5ee932u,0x3d9fc63du,0xbc2f3953u,0xbc46835bu,0x3d99c7b1u,0x3e511065u,
0xbdc73dd4u,0xbd837450u,0x3d41d189u,0x3d2885ceu,0x3e492302u,0x3da373efu,0xbdb4b0edu,0x3dda4624u,
0x3e09d6e9u,0x3d135935u,0x3d51a2eau,0x3df89af7u,0xbd065bbau,0xbe009a9bu,0xbc78f6fdu,0xbe726b99u,
0xbd76ee2cu,0xbe3e5848u,0xbe0e49cau,0xbd820f88u,0xbe93249fu,0xbb6d162cu,0xbdc7d872u,0xbe1337acu,
0x3d71599bu,0x3c9eee9du,0x3dcd993bu,0x3e842665u,0xbd6e4255u,0xbe836da9u,0xbaf3a63eu,0xbcb1aec7u,
0x3b44709bu,0xbd674dcdu,0xbdb046aau,0x3de89bb1u,0x3df25b11u,0xbd474048u,0x3e00068fu,0xbce3051eu,
0xbe3504c1u,0xbd73ece5u,0xbddb8da8u,0xbe1fd62fu,0xbcee5600u,0xbe9593f8u,0xbdd4b23cu,0xbe465450u,
0xbe925f7du,0x3d35a799u,0x3cf18504u,0xbd6dcf9eu,0x3aad4cacu,0x3dc97f0cu,0x3dfbc7f3u,0xbd149cd6u,
0x3da31672u,0x3e04a9f3u,0x3d0c7a76u,0xbdb3d485u,0xbdc10bceu,0xbc56d52du,0xbdd24f88u,0x3e581b6fu,
0x3c9d375fu,0x3dc9966au,0x3d85889bu,0xbc4efe57u,0xbd8b92e8u,0xbda22e49u,0x3e821338u,0xbd140a45u,
0x3de74fa0u,0x3d1c85f7u,0x3d92a358u,0x3deda48au,0x3e247accu,0x3e27f3bdu,0x3d36cb0au,0xbaf1bdf1u,
0x3cb53427u,0xbe5a510au,0xba46062eu,0xbcd3acfdu,0x3eb4183cu,0x3e3f0abcu,0x3c826d84u,0xbd817239u,
0x3e2faa5au,0xbdf9f0c0u,0xbdaf2a49u,0xbdc46e16u,0x3b95f6b9u,0xbdc1cc9fu,0x3d43b20eu,0x3e8d44ffu,
0x3df96090u,0x3dec2430u,0x3de893bbu,0xbbdc874bu,0xbdb491e9u,0xbe0860dcu,0xbdfeeafeu,0x3d000cc8u,
0x3daba29fu,0xbe855365u,0xbd991bd8u,0xba489111u,0xbe4bbb9fu,0x3db22704u,0xbdf1ddbfu,0xbe012534u,
0xbdc9da75u,0xbd49fbddu,0xbdce816eu,0x3cf2fdecu,0xbcf6e664u,0x3c9732efu,0x3de23fffu,0xbe10743au,
0xbd6b6a66u,0xbcc059e8u,0x3e0a3460u,0x3e44db42u,0x3dc47277u,0xbe96d39au,0xbe0eb0f0u,0x3e9a9dd6u,
0xbe712cb0u,0xbc3db9acu,0x3e3b3153u,0xbd181a13u,0x3dcbaa89u,0xbd0ec1d5u,0x3ea2d719u,0x3e49450eu,
0xbd0bf643u,0x3d6b12e1u,0xbd394f84u,0x3aaba0c4u,0x3ddd2435u,0x3b77825au,0x3d0cc214u,0xbd0925c5u,
0xbe02285cu,0xbc60f2b3u,0xbd8cf31fu,0xbba96584u,0x3ea6776au,0x3e678fa1u,0xbd1f4662u,0xbe11d212u,
0xbd944368u,0x3de6b10du,0x3e36887au,0xbc208f74u,0x3daf788au,0x3e38e95au,0x3ea17ad7u,0xbeb1ce2fu,
0x3d06292fu,0x3e5e93f4u,0xbdb20025u,0xbd0642a8u,0xbe5d166au,0xbd14f2b5u,0xbe821752u,0xbe1709a5u,
0xbd73e360u,0x3d44b62eu,0xbea1d556u,0xbe9cd35cu,0x3e2f47fdu,0x3cc474cbu,0x3e818e42u,0x3def9539u,
0xbdd08a31u,0x3e0d9727u,0x3e4f4856u,0xbe05e655u,0xbe5ae9c6u,0x3e49cb51u,0x3d068abdu,0x3cc22a90u,
0xbe685318u,0xbd83ca05u,0xbec9676fu,0xbd05b560u,0x3de43e16u,0xbea2e28eu,0xbe9119d4u,0xbb10f35fu,
0x3e6a38b6u,0x3e82249au,0xbd1a4b7au,0x3e0f578cu,0x3e09b9d4u,0x3de26d31u,0x3ddecb2bu,0xbc2c44f4u,
0x3dc01655u,0x3e0ef4f0u,0x3edadb67u,0x3e490412u,0xbe88e76eu,0xbe04875fu,0x3e2a838cu,0x3d6b8a28u,
0xbe97792cu,0xbd40cf97u,0x3ae403ceu,0xbe279f5du,0xbe1a0afbu,0x3c9392b4u,0xbe0b301fu,0xbe1d0c57u,
0xbe22ab64u,0xbdf3378eu,0xbe1cde7cu,0xbca3f568u,0xbdac1a81u,0xbc3a904eu,0xbd190665u,0x3d820e03u,
0x3e095aa5u,0x3e61c13eu,0xbd6394e4u,0x3d617206u,0xbdc28ee7u,0x3c2beb98u,0xbe71c613u,0xbcdee05cu,
0xbd4b85e1u,0xbe98bfc9u,0xbd128480u,0x3dd4da1fu,0x3e271dd4u,0xbdc6fa6cu,0xbcdc9e07u,0xbd78a31eu,
0xbd03659fu,0xbc2f4d7eu,0x3e0c818fu,0x3e83a811u,0x3e1a01f3u,0x3def1165u,0x3d77a30bu,0xbbd7d395u,
0xbccbc8f5u,0x3d1a905cu,0xbe3c2eacu,0x3e22a4edu,0xbea03ecbu,0xbc2c0be1u,0x3e8697f2u,0xbe31ab65u,
0xbe89c774u,0x3e5796e7u,0x3e657d50u,0x3d9ef0bdu,0x3e51d1e4u,0xbc89fd74u,0x3e2a7662u,0x3e7ca554u,
0x3e0347e9u,0x3e03d3dcu,0x3e925eecu,0x3d8a72abu,0xbdf49ad3u,0x3e952241u,0x3dfbe36cu,0xbcc07736u,
0x3e35ef92u,0xbc408edcu,0x3e015e6fu,0xbd95e753u,0x3deff621u,0xbdb26df6u,0x3d4f2632u,0xbe38f901u,
0xbe4b8ca4u,0x3da30705u,0x3d4b0efau,0x3ced23d1u,0x3c160f22u,0x3db58f24u,0xbdb7700fu,0x3bd86aadu,
0x3ca20c83u,0xbd71393du,0x3d21e3eeu,0xbcbb1395u,0xbd6577b5u,0xbcb3778cu,0x3da98f3fu,0x3e90fc56u,
0xbd21ac69u,0x3de45d93u,0xbe352e60u,0x3e7450f0u,0x3ca308ceu,0x3dd26c2fu,0x3e1a8b5fu,0x3e8d6229u,
0xbb6fa2beu,0x3d0cfe00u,0x3d31fc06u,0xbab95f13u,0xbc182000u,0x3dab7aa2u,0x3d0a9a4eu,0xbb913badu,
0x3d898376u,0xbe1e191eu,0xbc99cff1u,0xbe46a151u,0x3c3d4e94u,0x3ce7f7f5u,0xbc6f86ebu,0xbd8f891bu,
0xb9e72ae7u,0xbe0f7bfcu,0x3b9475deu,0x3e04307cu,0x3c44162bu,0xbd93ca93u,0xbc8f2a99u,0x3e90d228u,
0x3d9f34bau,0x3e266511u,0x3da93751u,0xbbf4c752u,0xbe1da6bcu,0x3e630e4cu,0xbe047a3cu,0x3d917279u,
0xbddf4732u,0x3a16b90fu,0xbe0ffe59u,0xbdc00064u,0x3e143850u,0xbc9ff908u,0x3e18149du,0x3db56bbcu,
0x3df28a71u,0x3e025ca8u,0xbdff3a1bu,0xbd6155a3u,0x3e219875u,0xbda8857eu,0x3e7865e0u,0xbdbde4c7u,
0xbc07d6fau,0xbe0143b9u,0x3d35a56cu,0xbe691db7u,0xbe0bfa16u,0xbe293631u,0xbb5853d9u,0xbd3e64c1u,
0x3b726724u,0x3d24d1a1u,0xbd0367e5u,0xbd7e27beu,0x3e143b85u,0x3da3243cu,0xbd217c1bu,0xbc690c2cu,
0xbcfd7838u,0x3d634a75u,0xbdca0c29u,0x3d8b08d8u,0xba98f0e1u,0xbe96d73au,0xbe8b9093u,0x3def8d5bu,
0xbe4cc742u,0xbe4076cbu,0x3e0d2e8au,0xbdfe63bcu,0xbd594c31u,0x3d1f2c5eu,0xbe0f11f6u,0xbe42a23bu,
0x3c420feau,0x3e0b7490u,0xbd5c8edfu,0xbe0ff862u,0x3da329abu,0xbda9673cu,0xbe2c6e7cu,0x3c08dd9au,
0xbd918de2u,0x3e3fc8b1u,0x3d2d20c0u,0xbe185f5du,0x3dd168acu,0x3e6094c0u,0xbc6f50e3u,0xbdbe130fu,
0xbde73ec4u,0xbcd3688bu,0xbde15b14u,0xbdfc65cbu,0x3d95b0a3u,0x3df595fcu,0xbc52c09au,0x3dd38d58u,
0x3dbe8408u,0x3e81cb30u,0x3d11ef3au,0xbe45efeeu,0x3e12ea92u,0x3cc5fe42u,0x3c9718f8u,0x3e867b3du,
0xbd72caf2u,0x3c532677u,0xbe35f973u,0xbd26cdd6u,0xbd9ad262u,0xbdd2b20cu,0x3c97e3a5u,0xbd29dda4u,
0x3c972c69u,0x3dd26e27u,0xbe0dca5cu,0x3da1cef4u,0xbeab7ca5u,0x3c4d48cdu,0x3d0d75b3u,0xbda6e806u,
0xbd639457u,0xbdcc7811u,0x3da429aau,0xbebe8371u,0xbe1e2144u,0xbe480d4eu,0x3d263c59u,0x3e149c1bu,
0x3e229079u,0x3d2b0538u,0x3bfd2caau,0xbdbc7331u,0x3e2a2530u,0x3ce4e742u,0xbdf5a33eu,0xbe5b3f64u,
0x3c13a267u,0x3ddc60d9u,0x3e4953bau,0x3dfaac20u,0xbac869f1u,0xbc4a5cf3u,0x3e764a36u,0x3db42f18u,
0x3dae4db5u,0xbda0c2b8u,0xbc6ec5a7u,0xbdfd3ce4u,0xbdc59c08u,0xbdf61f91u,0xbe9c721eu,0x3e583851u,
0x3df5603du,0xbe21f3f6u,0x3e327773u,0x3c4c966du,0x3c8a4669u,0x3cef5f49u,0xbdd4f3abu,0xbddb434bu,
0xbc1779d3u,0x3cae119au,0xbd1fae2cu,0x3cdc9938u,0x3d4656a2u,0xbd40672du,0x3d91c58fu,0x3dfce94du,
0x3d4fd043u,0xbd147097u,0xbca2aff6u,0xbe2bf915u,0xbe26f73cu,0x3e24360fu,0xbcc6bb85u,0xbd4d0a4fu,
0x3e4759ceu,0x3e20dd4au,0xbba4b8c0u,0x3db6cf8cu,0xbda4eb20u,0x3dbfe409u,0x3e56cc29u,0x3ddfcf4eu,
0xbd3c6addu,0x3e0df8f0u,0x3e70a75au,0x3d45aa95u,0x3d149a72u,0x3eacbd8bu,0x3cc95441u,0xbd8e2bc5u,
0xbd40503bu,0x3e857c7eu,0xbb882b2eu,0x3d7c4f69u,0xbe873305u,0xbdbda414u,0x3d69f34eu,0xbdfae3ebu,
0x3e300868u,0x3e08c503u,0x3db3809fu,0x3e49dde3u,0xbda9b278u,0xbdbf3879u,0xbdc5b1a6u,0xbd8b687fu,
0xbe71cdefu,0x3de08d16u,0xbd41c024u,0x3c2eba76u,0x3dd6c836u,0xbd97ae47u,0x3df1755cu,0xbd7d3e54u,
0x3d933c3au,0xbdf44e3eu,0xbd8e5af6u,0x3d29e3bau,0xbe15103du,0x3b863529u,0xbd188429u,0x3db4cdcdu,
0x3d681146u,0x3e512336u,0x3ce9562cu,0x3e3bd9ccu,0x3e88995fu,0x3cf6a33au,0x3da6d907u,0x3d65c561u,
0xbe853358u,0xbd22be97u,0x3dac02cau,0x3b957ad9u,0xbda2d4c1u,0x3e39db7au,0xbe021992u,0xbc171de0u,
0x3e92afbdu,0xbe34d6e1u,0x3dd4df4fu,0x3d056344u,0x3d2e911du,0xbe221d0eu,0x3e4d422fu,0xbe840f87u,
0xbe59ea14u,0x3e6c7b76u,0xbdec8603u,0x3db508deu,0xbd53773eu,0xbd412e98u,0xbcaa3bd9u,0xbcb43aafu,
0x3b2223fbu,0xbdafea30u,0x3d6b9207u,0xbdc73494u,0x3bd3271du,0xbec6e652u,0x3d2bf7adu,0x3ca01b29u,
0x3e29121bu,0x3e22856fu,0x3bc33a06u,0x3dbac981u,0x3d92a6f2u,0xbe2e3779u,0xbea1af61u,0x3e33b8beu,
0x3d0e1373u,0xbe68f5b5u,0x3cf1ba47u,0x3dc7feeeu,0xbbefc6c8u,0x3cefb316u,0xbeb7cd49u,0x3db4a272u,
0xbce18146u,0x3e797f54u,0x3e6027a4u,0x3e4756bau,0x3e653424u,0xbd325a92u,0x3ddfa88du,0xbc6d279eu,
0x3e5b85f9u,0x3dc973e5u,0x3d841494u,0x3e108f9bu,0x3e15a8edu,0x3e574b90u,0x3cfa97f7u,0xbe20e305u,
0x3e098338u,0x3d803a78u,0xbc0cd529u,0xbded5d85u,0x3d617df9u,0xbe16accbu,0xbe3da6d3u,0x3d602289u,
0xbc94dce8u,0xbdd5b31eu,0xbca836bcu,0xbd2b9e07u,0x3ea10764u,0x3d554bc4u,0x3db0b46au,0x3ec92781u,
0x3d8386e7u,0xbd65ab1fu,0xbe8faf1du,0x3d0c5055u,0xbe5f9485u,0xbd4aba13u,0xbd4dc1c7u,0xbe928724u,
0x3e6bee58u,0x3db3c178u,0x3e122395u,0xbd323f36u,0xbda7c778u,0xbd14282du,0xbd5bb89fu,0x3e34123au,
0x3ba4aea0u,0x3da919f8u,0x3e9a3209u,0x3e342a04u,0x3d62300au,0xbccbbc20u,0x3ea9a10du,0x3d921fb1u,
0x3e27497cu,0xbe39b6d5u,0xbe3901cfu,0xbe096997u,0x3d39742au,0x3decb68cu,0xbdace2e8u,0xbd9c6a73u,
0xbe11e3abu,0xbeb679ebu,0x3e00828fu,0x3dc211cdu,0xbe54a685u,0x3e378c37u,0xbe37e5d5u,0xbdceb3dcu,
0xbdef18e3u,0x3e0592c8u,0x3cada871u,0x3d916e3au,0x3ea29487u,0x3e1bea8fu,0x3d0a88e6u,0x3cb76353u,
0xbe129c84u,0xbc2720aau,0x3e2f81a0u,0xbdffb72fu,0x3dd87f4bu,0x3dbc83e0u,0xbdf85a83u,0x3dcecaccu,
0xbc4e81e6u,0xbdcdd28cu,0x3da31e40u,0x3e263c95u,0xbdcc1835u,0x3d4239b6u,0xbdf72c65u,0x3e3b44cau,
0xbe40bd80u,0xbdadcbd0u,0x3d6850bbu,0xbdffc3b7u,0xbd946fdau,0xbd6280d3u,0xbd4512cbu,0x3bc3df68u,
0x3e206413u,0xbbe11780u,0x3c9b8986u,0x3d9b7772u,0x3de45277u,0xbe2ddfcau,0x3df0056bu,0xbe8df3f3u,
0xbec803d6u,0x3d9a7bf7u,0x3de5c063u,0x3be72922u,0xbe30190fu,0x3e7d87beu,0x3df6d223u,0x3d8b80cdu,
0x3cadc7b5u,0x3e3dae3eu,0x3da3d3a4u,0x3e2691a1u,0x3dd14e94u,0xbaa43eb6u,0x3ba962cbu,0xbdb70c72u,
0xbaa05bbeu,0xbd3f0eccu,0x3d68c58eu,0x3c00ac33u,0xbdc08347u,0x3cf143b5u,0xbe3dce18u,0x3e851cadu,
0xbc7b55c9u,0x3db0e549u,0x3e80287bu,0xbc8c0b79u,0xbd348cebu,0xbdaca10fu,0xbd4516fau,0xbda3a46eu,
0x3ccbf383u,0xbe764d5au,0xbd06a916u,0x3e6be931u,0xbe6c882eu,0xbe852293u,0xbe2e5450u,0x3cbb94ddu,
0x3dd35533u,0xbdccd82du,0xbe573a75u,0x3e3b27fbu,0xbda98268u,0xbc66cbf4u,0xbed2b3b2u,0x3dae1019u,
0xbe1f9af3u,0xbd4df1dcu,0x3e49464cu,0x3e23babau,0xbd59e136u,0xbb9626aau,0xbe4dc728u,0xbdbcc0cbu,
0xbe0cf3cfu,0x3dac6a31u,0x3d512eb1u,0x3c86baffu,0x3e1c7247u,0x3dc31445u,0xbcf73d68u,0xbe97b4eeu,
0xbed399c9u,0xbda4b64eu,0xbdf6691fu,0x3d50bfebu,0xbdc0a9d5u,0x3d074287u,0x3d38ec8cu,0x3df4cf81u,
0x3dfc0f6du,0x3e40ffdau,0x3d259f11u,0xbcecede8u,0x3e0dc5ddu,0x3e0147cdu,0x3b3a0a58u,0xbdb4972cu,
0x3e9c2457u,0x3e1dc473u,0x3df6ca7fu,0x3dbad270u,0xbe0c333du,0xbe386d10u,0xbdd4285au,0xbd446159u,
0xbe1818d5u,0xbe32f868u,0xbc6ce914u,0xbe8017f2u,0xbdde38d1u,0x3dc14c85u,0x3d606719u,0x3d0758bcu,
0x3e2951ccu,0xbe6801f3u,0x3e153709u,0x3e019995u,0x3e2dc8f9u,0xbce3dd9fu,0x3e4e3050u,0x3e8b6e6cu,
0x3d4a3b0fu,0x3e30488fu,0xbe388628u,0x3dd08515u,0x3e149f03u,0xbd94ef96u,0x3e9571fau,0x3d48f148u,
0xbe398dd4u,0xbd0327efu,0x3de5a3b1u,0xbe29b8c5u,0xbe18e0cbu,0xbda5c224u,0x3df257a1u,0x3df0356cu,
0xbdd84adau,0xbc83f649u,0x3e0bb728u,0xbe7feebcu,0x3d13884fu,0x3de377d4u,0xbe4aa000u,0xbe582662u,
0x3d4a4aecu,0x3dcc6bb1u,0x3c1a1c96u,0xbda31fcbu,0x3db2870cu,0xbe2587d3u,0x3dd939ceu,0x3c22f524u,
0x3c382b17u,0xbdbe09c1u,0x3e293f04u,0xbebe4d77u,0xbced283eu,0x3e269958u,0xbe4a2e79u,0x3e4ac52cu,
0x3d9b12f7u,0xbe03a6beu,0x3dffcefeu,0x3c829279u,0x3e0181f8u,0xbda0b8adu,0xbb9f86f6u,0x3e091fd4u,
0xbd47e25eu,0xbe08d480u,0xbe02322au,0x3d95a11du,0x3e5ff07fu,0xbd8bf400u,0x3da21699u,0xbe87fe98u,
0xbe0c7242u,0x3cff5ec0u,0x3e6cbe0au,0x3d2fa6e1u,0x3da9338cu,0x3da4c29fu,0x3e369d7cu,0xbda2e308u,
0x3e1a4d29u,0xbc8b2d86u,0xbd76a6bfu,0x3d214b5fu,0xbbb9d285u,0x3ab7c3c0u,0xbdb598a3u,0xbe06a431u,
0x3e8c8a1bu,0x3cb7eac4u,0xbd906dddu,0x3db64512u,0x3e6eac65u,0x3e5878f1u,0xbe34dab0u,0xbbab6deau,
0x3d945693u,0x3e1a312bu,0xbce46b0eu,0xbdd4086bu,0x3ec3038cu,0x3e993817u,0x3e372738u,0xbdcff8eeu,
0x3e006eceu,0x3e4ebb3du,0x3e163953u,0x3e21667fu,0x3c17877cu,0x3e1fb443u,0xbcc1c754u,0xbd626e3cu,
0xbd22ec7fu,0xbe2cb2ccu,0x3e1844aeu,0xbe114eaeu,0xbd1e9a57u,0xbdf183dfu,0xbe027a45u,0x3dd23827u,
0xbd3d2416u,0x3c612e62u,0x3ea69758u,0x3cf1ed77u,0x3dbf0486u,0xbd2331d3u,0x3daf5b63u,0xbe5182e9u,
0x3c09faa1u,0xbc522d22u,0x3e9838f0u,0x3c3faf13u,0xbcd8f4b4u,0xbd21c29fu,0xbe192e5cu,0x3dacafb7u,
0x3d38f691u,0xbd88fb8fu,0x3dad39e3u,0xbdf88dc5u,0xbd54a834u,0xbdd9427du,0xbe34f946u,0xbe7a2946u,
0x3cda9f4cu,0xbe4cd025u,0xbd99da73u,0xbd7d26c6u,0xbe19b086u,0x3cf1ca78u,0x3c2161bfu,0x3b60dcd5u,
0xbe9fb8e5u,0x3e4cefd9u,0xbe163f7cu,0x3d857363u,0xbb4cda2bu,0xbe15dd76u,0xbdc61011u,0x3e491819u,
0x3d6ac2e5u,0xbe85e0d0u,0xbe046f20u,0x3c1aa801u,0x3e315014u,0x3d802b27u,0xbdc174b6u,0xbe0ee31du,
0x3dd2b1cau,0x3dd54567u,0x3e8f3f18u,0xbcb621aau,0x3db0556du,0x3d827d40u,0x3e41ee8bu,0xbabdb140u,
0xbe31a53cu,0xbe3188cbu,0x3e01ed19u,0x3c2b5ec3u,0x3e4e7cf2u,0xbcabbb31u,0x3ec01b8eu,0xbcba3054u,
0x3d4872abu,0x3ce6c1e0u,0x3e329574u,0xbcee3fb8u,0xbe0825c5u,0xbde49c3fu,0x3dcf3943u,0xbc5c1b0au,
0xbcd9e899u,0xbe353eaau,0x3d77410au,0x3dc58a52u,0x3d2f8fffu,0xbe7fa7afu,0x3cdf05e8u,0x3dda50c2u,
0xbe8b9e93u,0xbe4c28a4u,0x3cd66210u,0xbe2708c5u,0xbe4ede9eu,0x3e0b7764u,0x3d14a142u,0x3eb34f35u,
0xbe63e5dau,0xbebc99bdu,0xbd2b1df7u,0xbe3615fcu,0x3e018f39u,0xbe09be59u,0x3e086815u,0xbdf66c38u,
0x3e0547e1u,0x3e1c97adu,0x3e66dfaeu,0x3de691aeu,0x3d66bf85u,0xbd1367e7u,0x3d8a85a6u,0x3d5de4cbu,
0x3e1d60fau,0xbc6a6f08u,0x3df27c7du,0x3ce67fb5u,0xbc0ab655u,0xbe55bdb5u,0x3c748b07u,0xbe9a3bb0u,
0xbdf9caeau,0x3da05381u,0xbe93624bu,0xbd2f8ab0u,0x3e467243u,0x3ef0cf3cu,0xbe65f193u,0xbd770a7cu,
0x3d9a541du,0xbd650517u,0xbd4466f4u,0xbe857ddbu,0x3e6bbb5au,0x3ecca60fu,0xbdb31282u,0x3d1f2fcfu,
0x3e0c265eu,0x3d440c33u,0x3da643fcu,0xbe68e27cu,0x3e5e9cbfu,0xbd183eceu,0xbc3ad825u,0x3e1118e7u,
0xbefe909eu,0xbde3ba82u,0x3da08b7fu,0x3e30edc6u,0x3d555d06u,0x3e6c0f22u,0x3e331a82u,0x3ea87694u,
0x3e6479fau,0xbe490b23u,0xbe0255dfu,0x3e7bb775u,0x3d2b3a02u,0x3d824b2du,0xbdf4fb69u,0xbd935b63u,
0xbe3546a1u,0xbdd55f8cu,0x3d10d115u,0xbe2630c5u,0xbddb9bd1u,0x3e8f7dfdu,0x3e44a1beu,0x3dbc3cbdu,
0xbcd226beu,0xbdbf5281u,0xbce3a2fdu,0xbea0255au,0x3d7e132au,0x3dfa7e42u,0x3d8ad941u,0x3d27a51au,
0x3e7224e5u,0x3dbaec7au,0x3d20264fu,0xbd0e3485u,0xbdedbc04u,0x3db5d1b6u,0xbd54d3fau,0x3d45f989u,
0x3e2e539du,0xbc8da74du,0xbc072ae5u,0xbe368caeu,0x3d3ffb39u,0x3e0d8a80u,0x3e91091bu,0xbd0e822au,
0xbe8159b3u,0xbe289352u,0xbe76c23au,0xbde7a7f7u,0x3df5ca97u,0x3db7f62du,0x3d87790bu,0xbe9ed0aeu,
0x3cbc7786u,0x3c6eeff2u,0xbcc14270u,0xbe101124u,0x3e8c885cu,0x3ce1d4e1u,0x3e831d1du,0xbdb187bbu,
0xbd2adc67u,0x3d90659fu,0x3e813240u,0xbdd45e37u,0xbda6d42cu,0x3d9e9edau,0x3c119572u,0xbde3feaau,
0x3e6277bbu,0x3e61c01eu,0xbd77d112u,0xbc00e1e6u,0xbdee10afu,0x3d9582e5u,0x3ddd5eecu,0x3b743009u,
0xbe35362eu,0x3e64b640u,0x3e980022u,0x3dcace0eu,0x3e244adeu,0x3c722b60u,0xbd499106u,0xbdedd001u,
0xbd91407au,0x3ea68aa0u,0x3e19efd1u,0x3e2c7bc6u,0x3b0c53f9u,0x3d76158cu,0x3e63224au,0x3d8bfcbfu,
0x3e6046deu,0x3e29dc24u,0xbde26dbbu,0xbe9faf77u,0x3cec8c91u,0xbdefb24eu,0xbd7debffu,0xbdef8a7au,
0xbdaf7aacu,0x3de79877u,0x3d7772a0u,0x3e9702f4u,0xbe27c435u,0xbb313230u,0xbe30ac18u,0xbd321e00u,
0x3d4ae14cu,0x3b835854u,0xbdb44067u,0x3e307ee9u,0xbdf486dfu,0x3cb284d9u,0xbe0f7fb8u,0xbc7557dbu,
0x3e3f4605u,0xbe1e1d8eu,0xbd3cd63bu,0xbe85f684u,0xbddaa811u,0xbbf43d32u,0x3d94fab8u,0xbd8b1c36u,
0xbda6344fu,0x3e16f790u,0xbd725d56u,0xbdbd1e49u,0xbd9c69a8u,0x3d4adedeu,0x3dbd8c4bu,0xbd0146fdu,
0x3dd8f974u,0xbbe2096fu,0x3e17a779u,0x3e361a7eu,0x3afa0c80u,0x3e021201u,0x3e8605b1u,0x3d4479beu,
0xbe9d6538u,0xbe1398f0u,0xbe0648bcu,0x3eb6ce22u,0xbd14976cu,0xbe0fac7bu,0xbc1b29d7u,0x3e2c7676u,
0xbdb812bdu,0xbcf5098bu,0x3d1dc337u,0xbd8bb713u,0xbc92307au,0x3d42ce53u,0xbe7de0e8u,0xbcdc9b74u,
0xbd9198f7u,0xbddb3c6cu,0x3d245f7au,0xbbb64862u,0xbdbd355cu,0x3d9f6393u,0x3cd110eau,0x3d105d8au,
0x3dd303c6u,0xbe05c391u,0xbc5a0a6eu,0x3d6e2ccfu,0x3c8cfa47u,0x3dde47e5u,0x3d8dbeb0u,0x3d984115u,
0xbd7b10f7u,0x3d4e8bdeu,0x3d8b2df8u,0xb900d23fu,0x3dff767du,0x3e7f3c04u,0x3e363a15u,0x3de5bed4u,
0x3e2848c1u,0xbd18f35cu,0xbd0966c6u,0xbe77e44au,0x3dd91cf7u,0x3e08c868u,0xbce00b8au,0x3e062427u,
0xbde0b157u,0xbe97aec3u,0xbe2ede05u,0xbce6cf87u,0x3d044d0au,0x3d9b63ebu,0xbe89ce4eu,0xbe27f836u,
0x3cd6fc00u,0x3d8a6303u,0x3d993524u,0xbc8712ecu,0x3e8c3060u,0x3cae199eu,0xbb98aa85u,0xbe1d103au,
0x3dc31654u,0x3dff8c1eu,0xbd0d6078u,0xbda07e12u,0x3eef064eu,0x3db93b02u,0xbdd017b0u,0xbcbf7caeu,
0xbd6fe7a5u,0x3e2362b1u,0x3e22be2fu,0x3cf27eedu,0x3d8a803bu,0xbd505b83u,0x3e3b2c9au,0x3e57a3c6u,
0xbea9af5eu,0xbc1d4854u,0xbc1cc792u,0xbe25ad15u,0x3e815395u,0xbe10c32eu,0xbe4f2a0eu,0x3eaa6733u,
0xbd100caeu,0xbc594e2fu,0x3e0bd0bbu,0xbd37b00eu,0x3dbc452fu,0x3c96032du,0x3e2762beu,0xbe0f8766u,
0xbda31edau,0xbc92ef73u,0x3d9970bbu,0xbdb3437eu,0x3b5a16bau,0x3cde4e45u,0xbd40e8c7u,0x3deb9c26u,
0x3cdb68b9u,0x3eafe3f3u,0x3c6c8b7cu,0x3e0b3c73u,0x3dba5035u,0xbde35fd7u,0xbda764f3u,0x3d7c6e8eu,
0xbdaa6086u,0x3c41aeb2u,0xbd0b0449u,0xbd989ac9u,0x3e1f20e2u,0x3e4cb062u,0x3def2125u,0xbd8dd332u,
0xbc4a8a70u,0x3db8ea68u,0x3dfa0732u,0x3e50adceu,0xbe028a61u,0xbd236335u,0x3deafed1u,0x3d4bf541u,
0xbe19e96eu,0x3e0f2a2cu,0x3dc08548u,0xbca4f3feu,0x3dcc03b6u,0x3e238ea6u,0x3e0f6503u,0x3db8573cu,
0x3e15b524u,0x3d8b7cbdu,0x3e547c70u,0x3aba1409u,0x3e34dbf7u,0x3e713719u,0x3eab1635u,0xbd8b92c0u,
0x3eae59f4u,0x3e719db3u,0x3d15324eu,0x3eec9265u,0xbd2996d3u,0x3e16f5ebu,0xbdeaa3e9u,0xbe9ed7bbu,
0x3defe0b6u,0x3d806438u,0x3e2fa2edu,0x3ddb8163u,0xbe74296cu,0x3df9411fu,0x3e24febbu,0x3e44af43u,
0xbd48bf8eu,0xbe039481u,0xbd346c16u,0x3c4c6746u,0xbe0b555fu,0xbdb0d181u,0x3e4c1f76u,0xbd96bc75u,
0xbe71ce17u,0xbdb23f3bu,0xbd8633ebu,0x3de62d5bu,0xbd0b02a1u,0xbca0e378u,0xbd1003a1u,0xbddcecc9u,
0xbe04160eu,0xbcb0af8bu,0xbe1c45c0u,0x3baf7d15u,0xbe055eddu,0xbd8d2581u,0x3c27bd0du,0x3df59794u,
0xbe8d04a0u,0xbd951382u,0x3c9c5451u,0xbe103112u,0xbd4f13f6u,0x3df7b0ebu,0xbd1feeaau,0xbe8aa4ffu,
0xbe3f273au,0xbec4cf19u,0x3e34bd3au,0xbdd2d278u,0x3db98612u,0x3d1c697fu,0xbe1286d4u,0x3d8a29dcu,
0xbe43d698u,0xbc9b6c6au,0xbd86b75bu,0x3dbfa7f7u,0x3de7c6c4u,0xbdce65ddu,0xbda851cau,0xbd6ffeb1u,
0xbe25d6ccu,0x3e26e96au,0x3d5a2239u,0x3e096264u,0x3ed93304u,0xbdd4d10bu,0xbdfb0060u,0x3e39cc15u,
0x3d3cae71u,0x3d926ed1u,0xbe3d02cdu,0x3e97c419u,0x3c73d05fu,0xbeba73d4u,0xbe93819fu,0x3dcaf477u,
0xbd2b9a13u,0x3de7319bu,0x3ddf5217u,0x3c071db4u,0xbd62ed2au,0xbecf0365u,0x3e6d21e0u,0x3dfcf9ceu,
0xbc4a21a9u,0x3e31ae22u,0x3c95d547u,0x3ea1ccbfu,0x3d89108bu,0xbe23e4ebu,0x3e3d1f11u,0xbd1f8282u,
0x3ddaafd0u,0x3ca986abu,0xbd1c5cadu,0x3da919cdu,0x3bbfa566u,0xbe297e5eu,0xba52e1c4u,0x3cc57988u,
0xbe56fdcfu,0x3c19d12du,0xbd3fd3e9u,0x3db901bdu,0x3d6dd8bau,0x3cb73b8fu,0xbda9e0a9u,0x3e0ac2f8u,
0x3e270876u,0xbe389573u,0xbe114fa5u,0xbe1e7235u,0xbeab1cc7u,0xbbb0a073u,0xbc391f3fu,0x3dc4bc27u,
0x3ea95a44u,0x3e1fee5au,0x3e22a775u,0x3d49b900u,0xbc4ad61cu,0x3c017807u,0x3e00e09eu,0x3e4b4597u,
0xbe9c8d48u,0x3e60fa3cu,0x3dd34130u,0xbacd0290u,0x3d7d16aau,0x3cbca041u,0x3cb6cbf5u,0xbd86a21cu,
0x3f048320u,0xbd2ecdd2u,0x3de7aa33u,0x3e939e52u,0xbdfac8c2u,0x3d61687cu,0xbe8bb733u,0xbe17d6aau,
0x3bd1dc58u,0x3e7f3cc3u,0xbe2e4e68u,0x3e616a09u,0x3bb104e8u,0xbd2b4116u,0x3e3684f3u,0x3be3b13au,
0xbcc2bceeu,0x3dc14fe2u,0xbd06c5b2u,0xbe7aa1c5u,0x3d1d9b61u,0xbdc2d982u,0xbe130443u,0x3e4d9171u,
0xbe16f487u,0xbe20e189u,0x3da278e5u,0xbd36f5fbu,0xbd90e70du,0xbde7beedu,0xbedd70f3u,0x3d7488efu,
0x3e450fd2u,0x3e78c390u,0xbdbd43c0u,0x3e902ac8u,0x3ec21279u,0x3cf78859u,0x3e7d9e5fu,0x3ec6a1a4u,
0x3e7fe54au,0x3ddb2decu,0x3c1f66edu,0xbdfa8bdeu,0xbdc49f13u,0xbe104945u,0xbd98aea2u,0xbdbfbc51u,
0x3dcef9a5u,0xbe114823u,0x3b8db796u,0xbe09e363u,0x3e311d29u,0xbe983c37u,0x3e1fb2cbu,0xbe889f5cu,
0x3e4e912eu,0x3e06b709u,0x3e8d81bdu,0x3ed1891bu,0x3e9f017au,0x3e4ee192u,0x3e847552u,0xbe0232d4u,
0x3e6e92fdu,0xbdc0523cu,0x3d1c5dc3u,0xbd01bff0u,0xbd004289u,0xbe53bacdu,0xbea87017u,0xbde2d0a3u,
0x3d33e4ecu,0x3e43fb96u,0xbdff7280u,0xbe56fd3bu,0x3d3ad827u,0xbd77d555u,0xbd659ad7u,0xbde466c3u,
0x3d9ddc7du,0x3dc66dfeu,0xbbf656dfu,0xbd993378u,0xbc9f8c95u,0xbc10d213u,0xbe3c9404u,0xbd7c3416u,
0xbde5c59eu,0xbe2365d9u,0xbc96c869u,0xbe59f56au,0x3e2ca7cau,0xbdbca26du,0xbc408712u,0x3e45c3aau,
0x3d8df84cu,0x3e8247d9u,0xbe0e74beu,0x3d95a8e7u,0xbc16c86bu,0xbc18d2f0u,0xbd748412u,0xbe143f77u,
0xbd242abfu,0x3d8c567du,0x3e6e79c3u,0xbe723275u,0x3d420ec7u,0xbd79b127u,0x3e80cb34u,0xbc9ac0f1u,
0xbe04144bu,0x3ccff1f7u,0xbe4ada26u,0x3de29873u,0xbe1ea2f6u,0x3e910b54u,0xbd0f0f42u,0xbd9a1b30u,
0xbe58d0bcu,0xbdceb56cu,0x3d1080beu,0xbda2621au,0x3e713f35u,0x3de99b2cu,0x3ccc5d70u,0x3e1d1d1eu,
0x3e2d49d5u,0xbe5be590u,0x3db1966du,0x3dc3a256u,0x3e7b1461u,0xbc4b6ee4u,0x3e9c1defu,0x3e14ee3bu,
0x3d108651u,0xbc52ea2fu,0xbe96df7bu,0xbd3c2f3cu,0x3d1d74d1u,0x3e081260u,0x3ceda614u,0x3dabb387u,
0xbcbc683fu,0x3c226c55u,0xbd8cd42eu,0xbca1c490u,0xbda211ccu,0xbd972e6fu,0xbe2083bau,0x3a46d7f7u,
0x3ea0a704u,0x3f097ec3u,0x3ded98c6u,0xbd2e34b6u,0xbde1b1b9u,0x3e72bc67u,0xbdd7f800u,0x3ebceeefu,
0x3e414f06u,0x3e01b148u,0x3c0d640au,0xbc99d1e1u,0x3dfd00dbu,0xbe5cb79au,0xbda92b75u,0xbbf40294u,
0xbdffbb04u,0x3ea595e0u,0xbdc6297cu,0xbe3075f0u,0x3ceb8a67u,0x3e0ac2d7u,0xbdef7044u,0xbd883671u,
0xbe06867bu,0x3e39519du,0x3d97130fu,0x3ee9a0d3u,0x3eb60cc5u,0xbe3ca436u,0xbe06a84cu,0x3e1f3b35u,
0x3e87487eu,0xbb212dd5u,0x3e29109bu,0xbc81fa34u,0xbe7a5892u,0xbd2eb957u,0xbd9009f9u,0x3dbf8e97u,
0xbdcfc718u,0x3d423464u,0xbe937823u,0x3d84fb07u,0x3e44e2adu,0xbd931210u,0xbd6ac34du,0xbe171642u,
0x3de53386u,0x3d5ebc2du,0x3e3709c1u,0xbe1c057bu,0xbe410c21u,0x3e2a776bu,0xbd570466u,0x3deb15c1u,
0x3e1a6c76u,0x3e1bc938u,0x3dd0ec41u,0xbc81b59au,0xbdf1d43eu,0xbc8ba04fu,0xbdcc4529u,0xbbe85fbcu,
0x3dea6bebu,0x3ea2a8f7u,0xbd94763au,0xbb9790b4u,0x3c617f58u,0xbb0f0010u,0x3e355cffu,0xbe8a0c68u,
0x3da6403bu,0xbdd82731u,0xbe063592u,0xbc9fe606u,0xbe47adeau,0x3d95467cu,0x3de9eacbu,0xbcec6a61u,
0xbcb0418eu,0x3e87c315u,0xbe344e97u,0x3d916e67u,0xbedb92d8u,0xbde68a94u,0xbd11fb34u,0xbe096780u,
0x3e436416u,0x3e960440u,0x3d0c26c7u,0x3dbc1562u,0xbe3a2843u,0x3dcda4bau,0x3cd63df5u,0xbe043dcbu,
0x3e446adcu,0xbc451871u,0x3e2877f4u,0xbca9422bu,0x3d8870c0u,0x3e0c31d8u,0x3c564681u,0xbd8d380eu,
0x3d6515ddu,0x3d09a529u,0xbc8c0cc5u,0x3d549e97u,0x3d7d09d9u,0xbda6ad08u,0x3dbb4255u,0x3e53371cu,
0xbdfb9830u,0xbd134c56u,0xbd9d2ba6u,0xbdce553bu,0x3e819ad3u,0xbe3e25b3u,0xbd1b4054u,0xbd278369u,
0xbdecc371u,0x3ba5747fu,0x3e38b7c8u,0xbcd46ff1u,0x3dc41007u,0x3de467b8u,0x3e5568cdu,0x3ea9b325u,
0x3e6e23eau,0xbe05c7afu,0xbdef6b70u,0xbda881d1u,0xbe336ceeu,0x3e13f1dbu,0xbe7628deu,0x3c39a823u,
0xbe6a6959u,0x3d367ba2u,0xbd9c0fa7u,0xbebc4dadu,0xbea78dbau,0x3d3aba10u,0xbe65da57u,0x3e526f18u,
0xbb997c28u,0xbd3db64du,0x3dc2d577u,0xbe0c6abfu,0xbe593aacu,0xbdd65022u,0xbe2f3c31u,0x3dabac17u,
0x3dcb683cu,0xbe47a7bdu,0xbdc78054u,0xbc9f5a20u,0xbd3c1407u,0xbd5dfd87u,0x3e43f3d8u,0x3e5791d4u,
0x3d8000f9u,0x3dc05281u,0xbe994aceu,0xbe4832f0u,0x3e0ddc89u,0xbd14d802u,0x3e275aeau,0x3df44520u,
0x3dff69dfu,0x3e56c62fu,0x3e6bf4dau,0xbdbcfa2du,0xbdcda93fu,0xbe60547fu,0x3cfb6f97u,0xbe114b25u,
0xbe1b7170u,0x3e68fe10u,0xbdf45d4fu,0x3d5f54c0u,0x3cb403e3u,0x3e282cbfu,0x3cd17d7eu,0x3caee3d0u,
0x3d80dc55u,0x3ec3b90cu,0xba27bb17u,0x3dc10ce6u,0x3e210f04u,0x3eb0cbacu,0x3e0aa8ceu,0x3ec29ebdu,
0x3e47a4fbu,0x3e88874du,0x3e35d449u,0xbcd4bedcu,0xbd9afce3u,0x3dc36427u,0x3a791815u,0x3e08e10au,
0x3e63d67cu,0x3d09f29fu,0x3d4ec813u,0xbd52edeeu,0x3c945a7bu,0x3d10e956u,0xbe8206c9u,0x3d6cfb38u,
0x3eb81d1cu,0xbe91fa1bu,0x3ca252c8u,0x3e06e3e0u,0xbe76f61bu,0xbce7af44u,0xbe3be7b1u,0x3d741f44u,
0xbe2f5379u,0x3d8b8960u,0xbdbfb541u,0x3d1a6232u,0xbe078357u,0xbe84c3b3u,0x3cfbad7eu,0xbdf31409u,
0x3b2456b3u,0xba35c4bfu,0x3e08ec6bu,0x3ec43226u,0x3e9606ccu,0xbdc2a7dbu,0xbe1c6e2eu,0x3eb709deu,
0xbdbf38edu,0x3d7bea20u,0x3dbaba20u,0xbcfa95c6u,0x3def7763u,0xbe0a4b64u,0x3e3a0c3fu,0x3cf8f019u,
0x3dfdcd5du,0x3e230910u,0x3e829525u,0xbe04b4a6u,0x3c1360deu,0xbe78d050u,0xbe9baea8u,0x3c085379u,
0xbc5f5471u,0x3de3c074u,0xbd20ced3u,0x3e8de5d2u,0x3cab2f5cu,0x3e1a59e7u,0xbdd7a5dbu,0xbe449bcdu,
0x3e739f29u,0xbd6000ffu,0x3e00dc41u,0xbd44f6afu,0x3de3898eu,0x3e068194u,0x3d8add08u,0xbd9993c8u,
0x3e175824u,0xbcf7e5abu,0xbde33eafu,0xbd3128b6u,0xbccc735du,0xbcd1550au,0xbe8cceb9u,0xbd9519f5u,
0x3d840476u,0x3d25ceb3u,0x3c246379u,0xbd8f3bb8u,0x3bc3101fu,0xbebfbef8u,0xbe0d8f4eu,0x3cb95007u,
0xbe3ae271u,0x3e4b5498u,0x3dc501f8u,0xbdccbeb2u,0xbe28fca1u,0xbe47085eu,0xbd03f45au,0xbd57fcd0u,
0x3e9957ebu,0x3dbb6d4bu,0x3dff1daau,0x3e6b051fu,0xbd2023e4u,0x3c6562fau,0xbe6b57c5u,0xbdc808eeu,
0x3d2075a0u,0xbd73dd2cu,0x3e40528au,0xbe2548d7u,0xbe0bf3e6u,0xbd8a6079u,0xbd71dd90u,0x3c0beb02u,
0xbd257c30u,0x3d2c5c03u,0x3e574262u,0x3e3b7a66u,0xbe749656u,0x3e1c431du,0x3e73a4b2u,0x3d2ab65fu,
0xbe1a540fu,0x3d729777u,0x3dc24f7bu,0x3e56683fu,0x3dd1ce5cu,0x3ebfa8c1u,0x3d2f8804u,0x3dc731d6u,
0x3cb91f02u,0xbd4a3f1au,0xbeafe041u,0xbe264085u,0xbecf2b7cu,0x3e298e2au,0xbe31366eu,0xbe875801u,
0x3dfac995u,0xbd45a277u,0x3cdb0948u,0x3e1da5e4u,0x3e1a4787u,0xbd9395a5u,0xbda19a60u,0xbea48919u,
0x3c8a462bu,0x3e05693cu,0x3ebbb377u,0xbe788073u,0xbdfb7187u,0xbcbd7e2cu,0x3e3866adu,0x3c8f3010u,
0x3e2d66feu,0xbc457351u,0xbbe1e270u,0xbe1e4986u,0xbe1e207bu,0x3e3b4751u,0xbd5fd5f8u,0xbe38b2a4u,
0xbe18380cu,0x3e49c1bfu,0x3eb71fc5u,0x3e20bea1u,0x3e060b58u,0xbe80963au,0x3dbe8360u,0xbdb2d949u,
0x3d13bd45u,0xbcbf5694u,0x3e386335u,0x3e04ed25u,0x3dc5ab14u,0x3c9fc71eu,0x3d32a397u,0x3d996aebu,
0x3dcb419fu,0xbbda0fceu,0x3e978640u,0xbd22230cu,0x3dc693e8u,0x3e34238eu,0xbd04ef52u,0x3c7bd520u,
0x3e4b1371u,0x3dfb43a9u,0x3bb55a9eu,0xbdf17143u,0x3e3c1d86u,0x3e4b43b3u,0xbe075078u,0x3e0a366eu,
0xbcef35f1u,0xbd910b50u,0x3ce7de7bu,0xbe35413eu,0x3dc44fbau,0xbdfc6cebu,0xbd8ffaceu,0xbe1c4407u,
0xbba2daa0u,0x3e40cfd2u,0xbdddfe78u,0xbd83b08bu,0xbe903169u,0xbd244a8eu,0xbd82b2a7u,0x3ea964f0u,
0x3e822a68u,0xbd866152u,0x3de8e39au,0x3dcb8c95u,0xbd1d3ca3u,0xbe079d2fu,0x3de2a0f6u,0xbe09f558u,
0x3d3211eau,0xbe417bf4u,0x3e6c3858u,0x3e0cac51u,0x3db7565cu,0x3d8e0006u,0x3d864603u,0x3dd86c68u,
0xbc2c75bfu,0xbe067620u,0x3d8a5e8bu,0x3de3c0d2u,0x3d1be15fu,0x3db81ba1u,0x3ebc564du,0x3ca6fb8du,
0xbe708324u,0x3e5eb80du,0x3d7fada4u,0x3bf18237u,0x3e68ab1fu,0x3ce26071u,0x3e638a88u,0xbda74a19u,
0x3e322045u,0x3d0f0830u,0x3d198957u,0x3dff2139u,0xbe92fde9u,0x3bedbc9bu,0x3dfa9655u,0xbc8a0302u,
0xbe071060u,0x3bf0c1f2u,0x3c1bd26au,0x3e4f52b4u,0xbd87ad25u,0x3e2cdd5eu,0x3ceaa255u,0x3ea62474u,
0xbdbaeea8u,0x3ddc7eb5u,0xbde89b49u,0xbdc21704u,0x3de6da26u,0x3e1d8d9bu,0x3dd563dau,0xbe685eceu,
0xbe184a6au,0x3d0d686cu,0xbde3a140u,0x3e1fdf02u,0xbd0e1642u,0x3cce3dbcu,0xbd830bd1u,0x3e0265c7u,
0xbdce0408u,0x3dd1eebeu,0x3dbc937du,0x3e127ed2u,0xbce33187u,0xbc1c8750u,0x3cdd2420u,0xbd51ee6eu,
0x3d4ed674u,0x3d4207e2u,0x3e71971fu,0xbe28c9c5u,0xbe5c4672u,0x3dad46ccu,0x3e182536u,0x3c3299bau,
0x3e2284e7u,0xbdeaf0afu,0xbd6d6ad7u,0xbe90ead5u,0x3ca798d9u,0x3dcdd882u,0xbde9cd6eu,0x3db1b885u,
0xbe0f4928u,0xbe803284u,0xbe8c0c18u,0xbda099ddu,0xbd1d64d6u,0x3e190008u,0xbe16669fu,0x3db991f7u,
0x3e22e92cu,0x3d379d89u,0xbd64a504u,0xbe034d17u,0x3e043408u,0xbb4b2510u,0x3e493756u,0x3d19cc82u,
0xbdb5bdd6u,0x3c1a8439u,0xbdb6c367u,0xbce092afu,0x3c7b7188u,0x3da20becu,0xbd88d509u,0x3b628572u,
0xbd10ddb1u,0x3d8bdd74u,0x3e3c6db1u,0x3df2d73fu,0x3e2adbd0u,0x3eceba36u,0x3c832214u,0x3e928d56u,
0x3e06984eu,0xbe220f1cu,0xbc3c6ba0u,0xbe4fa61au,0xbcd0390du,0xbe5d9dcfu,0x3dbcb956u,0xbdde9c9eu,
0x3e8d2729u,0xbd5c9fceu,0xba91e068u,0xbdfd6fe5u,0xbd9591e0u,0xba59d27bu,0x3df03877u,0x3e953058u,
0x3e5d30c7u,0x3e47854cu,0xbcdc0ab7u,0xbd89a105u,0xbd9ae60du,0xbe46e0a2u,0x3d45b2e0u,0x3d07e770u,
0x3daf45c2u,0xbcc8966fu,0x3dc4b90eu,0x3e53afc6u,0x3cc5311fu,0x3d5211f0u,0xbe0422e2u,0xbdd5b31au,
0x3ccc3edeu,0x3cd64607u,0xbd9eb20bu,0xbdb675a2u,0xb8e60b7cu,0x3e7967e0u,0xbbd84a65u,0xbd083898u,
0x3df4d4e8u,0xbdcc2d2au,0x3e189fa7u,0x3e102752u,0x3da7ad27u,0x3e09fb6bu,0xbc1c2f0du,0xbd397ef2u,
0xbe8e8fceu,0xbe3eb43eu,0x3dd80ed2u,0xbd27d2f3u,0x3e94b407u,0x3d9634f9u,0x3e2f3d66u,0x3de9d23fu,
0x3d8f3497u,0xbd92f8fdu,0x3b54d755u,0x3d2e2b81u,0x3e7f37f3u,0x3e5c45d7u,0x3d897d73u,0x3dd79498u,
0x3e6dd1a3u,0x3dc0faebu,0xbc02021fu,0xbd14a651u,0xbd82ff6eu,0xbd959fe6u,0xbbb8aa79u,0x3da006a8u,
0xbe885178u,0xbd42c6a6u,0x3dea4227u,0xbca643fdu,0xbe13b7c5u,0xbd5bcb4eu,0x3e4d62e2u,0xbe6548b6u,
0xbd13c021u,0x3cfa5a52u,0xbe3a9f06u,0x3dfa8deeu,0xbea9c778u,0xbbbe1f64u,0x3e911db3u,0xbd3ca853u,
0x3da18252u,0x3e0c463bu,0x3dd76fc7u,0x3e7c5b37u,0x3d18bc4fu,0x3b8be185u,0xbdbf366du,0x3da5153au,
0x3d7efbbcu,0x3df5dd16u,0x3dcb1f33u,0x3bde8c1cu,0xbd14e9b7u,0x3e00d434u,0x3e4ba012u,0x3d1cfffbu,
0x3e9c98d4u,0xb9bd1baau,0xbd932115u,0x3cec8df2u,0xbe5e62cau,0x3e262c3eu,0xbc2f67a3u,0xbd5b984fu,
0xbe454c00u,0xbe24872eu,0xbd861d04u,0x3de34a0fu,0xbe6f8108u,0x3e27361cu,0x3d3a507bu,0xbe1e4c38u,
0xbd7b57e9u,0xbc06b9e0u,0xbd938488u,0xbecb2badu,0xbdf4c64cu,0xbde168abu,0x3abe7697u,0xbc1901bdu,
0x3dfabfadu,0xbde42ff4u,0xbc937848u,0x3e4ef796u,0xbd965507u,0xbd340164u,0x3c750e1au,0xbdfd8f9eu,
0xbe07bf58u,0x37b14720u,0xbe6ae7aeu,0xbe1d9bffu,0x3e067b4du,0x3d53a7e7u,0xbb369247u,0xbe13288du,
0x3d98ab27u,0xbe88f7d2u,0x3d58d7ddu,0xbe0349e9u,0x3dac4b66u,0x3d18f151u,0xbe31afffu,0x3df7df1du,
0xbd7bf5e8u,0x3e5a56a0u,0x3e40a36au,0x3b469b29u,0xbbe07e26u,0xbd92ad55u,0xbe01f6ccu,0x3d91edcdu,
0xbdbd38b5u,0x3db99818u,0x3dc1ee14u,0x3d2ee465u,0x3e0ccce4u,0x3e7fb7dcu,0x3d58c6cbu,0x3e680c0bu,
0xbd5ff2e4u,0xbceaed47u,0x3dd9f86au,0xbe4e2b2fu,0x3e16e15cu,0xbe11035au,0x3db39e26u,0x3bf0c7c7u,
0xbb3dee08u,0x3dd17f3eu,0x3d83359du,0x3d8c1b73u,0xbc8bfc76u,0xbde3e230u,0x3e286190u,0xbee98415u,
0x3dff360fu,0xbb95e772u,0xbe7081b8u,0x3d3902afu,0xbe0a805eu,0xbc896fb0u,0xbe61a0e5u,0xbd08727du,
0xbd8ef926u,0x3b74c9edu,0x3d9a4da1u,0xbe0c0fd7u,0x3d397969u,0xbe347987u,0xbe01d559u,0xbeab334fu,
0xbdbf4080u,0xbe0ed9b4u,0xbe3b08f3u,0xbd60bb6au,0x3e8ef062u,0xbe8ba5aau,0xbdde1aafu,0xbe9073dcu,
0x3e2b2112u,0x3e412033u,0x3abbe618u,0x3e4f660eu,0x3dec2dadu,0xbdeaa1b0u,0x3e11f7efu,0x3e0048d1u,
0x3e0f4ad0u,0x3caec770u,0xbddb6cdau,0x3eb212a3u,0x3dddff5du,0x3cd2ed8fu,0xbdf3bcbau,0x3e17b93fu,
0x3b472d57u,0xbd8cdaccu,0x3e38bec4u,0x3d227828u,0xbe18e439u,0xbd356d23u,0xbe1740a7u,0xbd157546u,
0x3d90e716u,0xbde379eau,0xbddb2f33u,0x3d185576u,0x3dfebcb7u,0xbd3970bfu,0x3e0736f4u,0x3dd19b3bu,
0xbdfc5ac5u,0x3e8e8916u,0x3d19f9ccu,0xbcf6ec31u,0x3e438014u,0x3e3b6219u,0xbd730c2fu,0xbe31bb00u,
0xbe0d29c1u,0xbd1e6c03u,0xbe63ac28u,0xbde51f4fu,0x3e190e36u,0xbe764e94u,0xbd20854bu,0x3d69e9e5u,
0xbc9267a0u,0xbea4e3a3u,0xbe305595u,0x3c4d4e08u,0x3e34d3beu,0xbe2048d0u,0xbdebb100u,0x3d0a92b5u,
0x3e1cc438u,0xbe427064u,0x3d133d28u,0xbd98adbdu,0x3df0c967u,0x3c92b680u,0x3d356b18u,0x3e9e69bcu,
0xbc0fb8f1u,0xbdf10a67u,0xbdd2f442u,0x3e61e3beu,0x3c9b2c33u,0xbd940356u,0xbc5241ecu,0xbce52169u,
0x3e1fbc93u,0x3caabb40u,0x3db84c37u,0x3d1e3196u,0x3c49fefcu,0xbd837398u,0xbd30cc9fu,0x3e6e3da6u,
0xbc008e02u,0x3d28b5f8u,0x3d9a936du,0xbe3df5fbu,0xbd75834bu,0xbdba3e30u,0xbe7082ebu,0x3b8fcc5bu,
0xbd1be874u,0x3d8b9946u,0x3d914ea5u,0xbdb083dbu,0x3e7afe43u,0x3d9243f7u,0x3e32ce28u,0x3e5ba3f1u,
0xbd955f68u,0xbd11bda1u,0x3cb1ba8du,0x3d0da2d0u,0x3e23895du,0xbe558a3eu,0x3e4ba28cu,0xbd426277u,
0x3d31261bu,0xbe58d056u,0xbe04b9b2u,0x3c92a2e5u,0xbe98a07au,0x3da17f15u,0xbd0765f7u,0x3d1b3fbbu,
0x3c9faa6cu,0xbe44206bu,0x3e579a25u,0x3e8f84a0u,0x3dc4f9b4u,0xbdc534fbu,0x3e24178cu,0x3dbad68bu,
0x3e687742u,0xbc193df7u,0x3ea8bb7au,0x3e694ec8u,0x3cfce535u,0xbd098b1fu,0xbdde9072u,0x3d2d437fu,
0x3cbb7b07u,0x3d175beau,0xbbc020b7u,0xbc7d92f6u,0x3c7d9445u,0xbd8e92e3u,0xbdaa8a29u,0xbe3ca105u,
0x3d84f39fu,0x3e3d9b5au,0x3d9f523cu,0xbd82cbfbu,0xbbac1f1du,0x3d7b63e4u,0x3eaf20d1u,0x3c097332u,
0xbc96615du,0xbe4348b6u,0x3c2c51e4u,0x3e0c35fbu,0x3c765975u,0x3de6c5efu,0xbe1903b1u,0xbd0a18edu,
0xbd9bc6cau,0xbd77a64fu,0xbe57dcf2u,0xbe203650u,0xbe654079u,0x3df9e224u,0xbda06b82u,0xbe25f07fu,
0xbdc2497eu,0x3ddd655fu,0xbcac8f3cu,0x3dbb24bbu,0x3ea28440u,0x3dab23e2u,0xbd6c473cu,0x3e907ecau,
0x3e8b7a53u,0xbe5d4426u,0x3e08fa38u,0x3e9eac3fu,0x3dd711c5u,0x3e2ccd1du,0x3e68f4ffu,0x3e1aad64u,
0xbc49219cu,0xbe2bd83bu,0x3e4220b6u,0xbe00333cu,0x3ca074deu,0xbde4fe23u,0x3bc2dce8u,0xbd804017u,
0xbde31e24u,0xbe82bf9bu,0xbe259648u,0xbd6fa105u,0xbe3f896bu,0x3dc3b468u,0x3e23e18cu,0x3e6d1897u,
0x3ea920b2u,0x3da800beu,0x3ca1fabeu,0x3de2e525u,0x3e38f245u,0x3d9de266u,0x3e069d0cu,0xbd205593u,
0x3da07cfcu,0xbe307690u,0xbd80f953u,0x3e78f26cu,0x3da58f3bu,0x3db771beu,0x3d460d4fu,0x3e327b40u,
0xbe3eeaf1u,0x3daacab3u,0x3dd1a2e0u,0x3d5ec98cu,0x3e6790d2u,0xbd64aa09u,0xbe6f6b18u,0x3d015574u,
0x3e1576b9u,0xbe8ce9feu,0xbe5ceabeu,0xbcb69d2eu,0xbea5d7e5u,0x3d82c92au,0x3db32f4bu,0xbd89b979u,
0x3e82997fu,0x3cdaafe5u,0x3e150624u,0xbdb233dbu,0xbe84b742u,0x3d6dcd45u,0x3e4757f9u,0x3cdafb06u,
0xbbadddedu,0xbec59794u,0x3e9f9707u,0x3d93bcb2u,0xbebc3a93u,0x3d8e04c4u,0xbc9e6c84u,0x3ce19991u,
0x3ebc3972u,0xbde221c0u,0x3c5b2be4u,0xbbfb4896u,0xbd5282c9u,0x3c9fa945u,0x3e5e5297u,0xbcde56f3u,
0xbc88da8du,0x3e075b4fu,0xbdad374eu,0x3e25ee4cu,0xbc3e4458u,0x3d7b6a45u,0x3e98864bu,0x3ca23c49u,
0x3e2cf938u,0x3e3e4afau,0xbd8969b3u,0xbe146f93u,0x3eb7298bu,0x3e83c4b8u,0x3e5e3dabu,0x3e4565aeu,
0xbccaf358u,0xbdbc0036u,0x3da42ac3u,0xbe90c9c0u,0xbdfa6b49u,0x3e5f9a21u,0xbed9d5f6u,0xbe61808eu,
0xbd236e46u,0xbcfb2c5bu,0xbde6da10u,0xbd61a24du,0x3db83d89u,0xbe94bb1eu,0x3e224205u,0xbe985885u,
0xbca6bae1u,0x3d544cd0u,0x3e958da8u,0xbde4bf74u,0x3bca0e85u,0xbdaacba9u,0x3d83b1b0u,0x3d66e56au,
0xbc483465u,0x3d875cbbu,0x3d2a67a3u,0xbe73024cu,0xbdf0f6a6u,0x3db92e22u,0xbe1ed637u,0xbe2020e1u,
0x3e33d576u,0x3be93ecau,0xbdf3b5d4u,0x3ddd3043u,0xbce91c3du,0xbe561160u,0x3de10621u,0xbe8aa3bcu,
0xbdbf47f6u,0x3def3083u,0xbd8bb51cu,0xbc9e4e2au,0xbcb878fau,0xbddf00dfu,0xb9bea1ebu,0xbc48d5f6u,
0x3d9e0f95u,0x3d30ba82u,0xbd9701f1u,0xbc794366u,0x3d7cc6beu,0x3db9d49eu,0x3bc37781u,0x3df2b105u,
0x3def5ec1u,0x3c9e69aau,0xbceb9022u,0x3e537df0u,0x3e6a8d22u,0xbe37088du,0xbec8dcc2u,0x3cba7a90u,
0x3d8a89d0u,0x3dc8bddeu,0xbe5d4a00u,0x3e0facb4u,0x3e3f4a8bu,0x3d234e04u,0x3dd7b2bdu,0x3d937112u,
0xbe2e2914u,0x3e62ca06u,0xbe845affu,0xbdca5ef8u,0x3ddb7a6bu,0xbdf5e891u,0x3da0b121u,0x3d54a9f8u,
0xbc82645cu,0xb9ded1f4u,0x3e4bd775u,0xbe8f4126u,0x3a5d3ac1u,0x3e4a04c2u,0xbe594570u,0x3ea3e842u,
0x3e10777du,0xbd15ee0eu,0xbc1389aau,0x3e94ea0au,0x3cc13fc5u,0xbdb29975u,0x3e1ca19fu,0x3e448a1eu,
0x3e17a2e7u,0xbe47abb9u,0xbe3028f3u,0xbd884928u,0xbdf7e564u,0xbe88c111u,0xbd190d51u,0x3e4e0b3eu,
0xbd7f9a5cu,0x3d2774c1u,0x3d96969cu,0x3ba83400u,0xba1a6f20u,0xbe469d01u,0xbe3913ccu,0x3e7192f0u,
0x3e255c65u,0xbe02b0dau,0x3e357d32u,0xbdfbda2au,0x3cd53111u,0xbe18bdf6u,0xbd98e2ebu,0x3e6b6eceu,
0x3e88f577u,0xbc92f83du,0xbd169eaeu,0x3e6e606bu,0x3ea77e55u,0x3d297c2au,0x3d962112u,0x3cb43a8fu,
0x3ccaf9acu,0xbc7a2a5cu,0xbde5e280u,0x3d799360u,0x3de19e59u,0x3e67619au,0x3eb07251u,0xbe22e3aeu,
0x3c20cf1au,0x3e04e05eu,0xbd934bd1u,0xbe1144efu,0xbe8b6fb9u,0x3dd02a5bu,0x3e8989d6u,0xbc7f2b30u,
0x3d85566fu,0x3d29b421u,0xbe14d2b2u,0x3be880c9u,0x3ddac130u,0x3d59f9d0u,0x3d8b086eu,0x3d8cc375u,
0x3e29bc23u,0xbdcb60f8u,0x3c8fe65fu,0x3c850f86u,0xbd85b4bau,0x3da71902u,0x3d0d83b8u,0x3d578928u,
0xbe4f46e6u,0x3b17a2feu,0xbd29a118u,0x3e9e8d3eu,0x3e4343bbu,0xbe490401u,0x3d837e6au,0x3dfae7d8u,
0x3d54716fu,0x3e63cb48u,0x3e31e0a5u,0x3d44fb6fu,0x3da52111u,0x3e0296b1u,0x3e1dfe16u,0x3d9d3c3eu,
0x3d35202au,0xbcba7d85u,0x3da5d8eeu,0x3d41cf74u,0x3cf9cb44u,0x3d955d87u,0x3ddf9c51u,0x3dc7940fu,
0xbdf1d3d5u,0xbe88a02eu,0xbdb1ed6bu,0x3e92ef90u,0x3ddf34f6u,0xbe135c30u,0x3ddbee78u,0xbe49d10fu,
0xbdf42203u,0xbe4b6ccdu,0xbe542778u,0x3b843633u,0xbe1930efu,0x3d2b1841u,0x3e48bd0fu,0xbe239274u,
0x3d49dad2u,0x39d8c83bu,0xbe466baeu,0xbe3901d8u,0x3dc511ffu,0x3b1b7b8bu,0xbeb2647fu,0xbd66dca5u,
0xbdb76502u,0xbd82dfceu,0xbcc3367fu,0xbe114324u,0xbe2a1654u,0xbe15f8a9u,0xbe6b64fcu,0xbdef4b5eu,
0xbdc132cau,0x3cf241b7u,0x3dd7543du,0x3dcfe85du,0xbe2af527u,0xbda43c73u,0x3df0773au,0x3e09531cu,
0xbdf4baaeu,0xbe02c1e4u,0x3daa1ae5u,0x3e8d4654u,0xbe473c93u,0xbd9f7ac3u,0x3e5a9529u,0x3d009eb3u,
0x3e0a323du,0xbde52680u,0x3e7f73c5u,0xbcf4c07fu,0x3d5e237fu,0x3c6b7edcu,0xbbd4f621u,0x3d4b2bc1u,
0x3b3669dfu,0x3d82ce00u,0xbeb78630u,0xbe1f39d1u,0xbd93a430u,0xbe13f520u,0x3e7f2804u,0x3dcc365du,
0xbbb54a75u,0xbe945781u,0x3eb5af4fu,0x3e4c4d97u,0x3eb8e47eu,0xbe7e9d7au,0x3e686feau,0x3d8f3ea1u,
0xbe61538au,0xbd6cc711u,0x3cd4fbffu,0x3d975448u,0xbdf72c56u,0x3b8d3657u,0xbda1bffeu,0x3d998b20u,
0xbdab78bcu,0x3b952dfeu,0xbd317d73u,0x3e0debfcu,0xbba486b5u,0xbdf72451u,0xbe0d8820u,0x3d77ebf8u,
0x3f0ebdedu,0xbd7e4c55u,0xbe08cd1bu,0x3e537fcbu,0x3de35b8au,0x3e0f0c3cu,0x3e02be60u,0xbd43c060u,
0x3dfa7fe6u,0x3d51ed2eu,0x3d65531eu,0xbd0570c1u,0x3e3814cau,0xbe56e389u,0xbe5a0d64u,0xbe248769u,
0xbde2a5cdu,0x3eaed088u,0xbd015babu,0x3c4db4e4u,0xbd33b125u,0x3ed7e28cu,0xbe7581bau,0x3df2fe6fu,
0xbe106135u,0xbeacfc1eu,0xbde92439u,0x3df27e22u,0x3d641ff5u,0xbe26f1f5u,0x3dbc9f75u,0x3da7e855u,
0xbb78d8f1u,0x3e13efadu,0xbe523617u,0x3daae485u,0x3e4010e9u,0x3b745c63u,0x3e354d0au,0xbd06d179u,
0x3ca7ade3u,0xbd0f5351u,0x3dda2408u,0x3da7b600u,0xbd14aed1u,0xbe046c97u,0x3e3cfb9au,0xbe0829b4u,
0xbd6bb821u,0xbc6d25ccu,0x3e221c6du,0x3cdc5970u,0xbc424f79u,0xbe15a307u,0x3e6b05afu,0xbc75d16eu,
0xbe1e3697u,0xbe96d6fbu,0xbdc00c01u,0x3d848cbcu,0x3dc79d96u,0xbd66591eu,0xbe249c3au,0x3d37df1au,
0xbdef0195u,0xbe4ee47cu,0xbdd83de4u,0x3dd85556u,0xbdc535e3u,0xbd4e5448u,0x3e55a889u,0xbe382a76u,
0xbc9466e8u,0xbe5b3baeu,0x3dab513du,0x3d162e83u,0x3e32512bu,0xbe2a6a4fu,0xbeb037f2u,0xbe1fc86bu,
0xbe08d65du,0xbe387d59u,0xbda2b4e5u,0xbd6a0758u,0x3d885068u,0xbd68f1f9u,0x3e2c91ceu,0x3d3e0095u,
0x3d3ea5abu,0x3e36aa0au,0x3ccf61f5u,0x3db39636u,0xbcc95c19u,0xbe102f50u,0xbe06ee22u,0x3d346bd0u,
0x3d493fc8u,0x3e275ef1u,0x3d0640d8u,0x3ddac655u,0xbe812f0du,0x3be7ef75u,0x3e9a8bb1u,0x3ca8ceb3u,
0xbe08de9du,0xbd92a46bu,0x3e91f501u,0x3e0dd211u,0x3cbd3ba7u,0xbcafd468u,0xbe83ea05u,0x3d8bc52eu,
0x3e5d525fu,0xbe8a3a72u,0x3e3ecdb0u,0x3dc52decu,0x3e5f8d24u,0x3d1c5bc9u,0x3bc361c8u,0x3e911c6au,
0x3ca4eb98u,0xbb7b2634u,0xbd99449du,0xbdaae511u,0xbcd7deb1u,0xbcf31f63u,0x3d16b022u,0x3d2b834fu,
0xbec85fe8u,0xbe3097c9u,0x3c70ea19u,0x3d151a82u,0xbea1ec4bu,0xbb05d6afu,0xbd772202u,0x3c16250cu,
0x3e6d896du,0x3cc6d992u,0xbd9f9e73u,0xbd83dd60u,0xbd346d66u,0xbce746dbu,0x3d91a13du,0xbe26b91cu,
0x3e495980u,0x3be3a9f6u,0xbe1ac2aau,0x3d947608u,0xbd8ca051u,0x3d02e581u,0x3e82095au,0x3d0efb8bu,
0x3c6f6d97u,0xbdc809ffu,0xbe4c0824u,0x3e14545fu,0x3de37b74u,0x3b8ee506u,0xbe040a86u,0x3d5d2296u,
0xbd9c8762u,0xbd9a983cu,0x3d72620bu,0xbe7b2c17u,0x3bbd1950u,0x3e5e3586u,0x3d53fd59u,0xbcfc901fu,
0x3d1188e5u,0x3da24eceu,0x3d3a342fu,0x3d1a3505u,0xbd9e947cu,0x3e403108u,0xbc34b235u,0x3e95ddc8u,
0xbe5fed4cu,0x3d001027u,0x3c215e3eu,0x3e6663c1u,0xbd46b2d7u,0xbee98e52u,0xbc51fea0u,0xbebd82aau,
0x3befbf13u,0x3d5ab9cau,0x3e1e1ad9u,0x3d67be98u,0x3d752468u,0x3e379752u,0xbba76525u,0x3bf2801eu,
0x3e5ce6f3u,0x3dd24c08u,0x3dc02af4u,0x3e03b229u,0x3dd1abd8u,0x3e2cd7e3u,0x3e1f4242u,0x3e7dd968u,
0x3c0f330fu,0xbd6b49d6u,0x3cb4a7d1u,0xbde129ffu,0xba22a207u,0xbde31a21u,0xbe75a5aau,0xbdcfe56cu,
0x3e04720eu,0xbe6edc4bu,0x3e624d06u,0x3dfdcf87u,0xbe27ec8du,0xbe53e683u,0xbb625d8bu,0x3e5fff85u,
0xbe10c7f4u,0x3e01565fu,0xbda75afdu,0x3d7f3d6eu,0xba2c2c45u,0xbc65a415u,0x3e2d1c94u,0xbda69ceeu,
0xbe1101fcu,0x3d9bf7afu,0xbd9d362cu,0x3df3314eu,0x3e39e038u,0x3d56a1cbu,0x3c45d77cu,0xbe7a778au,
0xbde143a2u,0xbe1c7bb9u,0xbe5d7189u,0xbcdb4400u,0xbde38464u,0xbdcbb68fu,0xbd4cd5b5u,0xbe6e509du,
0x3dd57614u,0xbd335ee6u,0xbe964b08u,0xbe3bcf4fu,0x3d8b471bu,0xbe0067fau,0x3b70cff8u,0x3eae4624u,
0xbe17754eu,0x3e96e8ebu,0x3dd371afu,0xbd5d703au,0xbe42cec9u,0x3d426839u,0x3dd34f80u,0xbe34a7e2u,
0xbdfd9b08u,0xbe23a1a6u,0x3dec60cau,0x3cc00b0au,0x3e004b2cu,0x3b877217u,0x3d91b9c1u,0xbe93dee8u,
0x3d8ea3eeu,0x3e68593bu,0xbca9c8dbu,0x3d95d500u,0xbdf894adu,0xbdac89a0u,0xbd2b0900u,0xbe4def7fu,
0x3b88a24fu,0x3e5c987bu,0xbd46e60du,0x3c6df9bau,0x3e58729fu,0x3d4cab4fu,0x3d2ee8c5u,0xbda30549u,
0x3de15fbeu,0x3e39c0c2u,0x3e802aadu,0x3e433ed2u,0xbe2af062u,0x3e3141cau,0x3ea9161eu,0x3dd983f4u,
0x3c778a04u,0xbe17dd4cu,0x3e3664b3u,0xbe2c5cbdu,0xbdaad543u,0xbe0b2c3eu,0xbd7b7a67u,0xbd4a7279u,
0xbc3fc785u,0xbd9e0541u,0xbd29b34du,0x3e33a863u,0xbe2c898cu,0x3e0a8f91u,0x3ddd0e5au,0x3e88b8adu,
0x3e58ca95u,0xbdc51341u,0xbe8003eau,0x3e7ed964u,0xbdd978adu,0xbdaddd78u,0xbcbd430eu,0xbc85e77bu,
0x3e171d26u,0x3e564fb9u,0xbd9bdc47u,0xbe286f54u,0x3de13257u,0xbda8e5c0u,0xbe172bc4u,0xbe40d545u,
0xbe6bb4c7u,0x3da4d343u,0xbcdd71c7u,0x3dee4615u,0xbe5b3a68u,0x3dcd3d28u,0xbe5eb6deu,0xbe7c530fu,
0xbd4e505eu,0xbe1c7d99u,0xbd85a60fu,0x3de91718u,0x3e6419d8u,0x3ccffadfu,0xbe437719u,0xbdbfcecau,
0xbbe2936fu,0xbcd745d3u,0x3ea0240du,0x3e43451eu,0xbd60f5edu,0x3e88634du,0xbe6e66d1u,0xbe7100edu,
0x3e5bc01eu,0xbe1db845u,0xbdc4f1ccu,0x3df15765u,0x3dc881e3u,0x3eaa2096u,0xbb9a491bu,0x3d8aa5e0u,
0x3e620db4u,0xbcbc814eu,0x3e1f4b49u,0xbc9a9880u,0x3dcf4295u,0xbe93da56u,0xbd948332u,0x3c8ac13du,
0x3dc16f24u,0x3de0b2b5u,0xbe08334cu,0xbb96f84eu,0x3cc18e89u,0xbc68a9deu,0xbd0b8d3cu,0xbdc6c0c3u,
0x3accc28fu,0xbe28bca8u,0x3e903f8bu,0xbe057e76u,0xbd202109u,0x3e8d99c6u,0x3daec381u,0x3d5e19a4u,
0x3e72f0f6u,0xbd5fd8bdu,0x3d8b5446u,0x3e390eb5u,0x3e7c3644u,0xbdbc3525u,0xbd4d902au,0xbd9d8a7cu,
0x3defa97eu,0xbb298289u,0x3cde3e29u,0xbd089061u,0x3e417e01u,0x3e01351du,0x3e1da5c0u,0xbe1aae88u,
0x3e0a54c4u,0x3cc0cf12u,0xbbf49e26u,0x3e27f9f6u,0xbdaede5eu,0x3e1e954du,0xbdbe0c30u,0xbe08d363u,
0x3e2d5125u,0x3e1e4634u,0x3ddd0463u,0xbc49c287u,0xbde10460u,0xbdf451a7u,0xbda53a32u,0xbdd347f3u,
0xbcfc435cu,0x3e4fe5dcu,0xbcfb3b9cu,0x3e845e3cu,0xba407d81u,0xbe195896u,0xbdbb1b17u,0xbd403efcu,
0xbce2e266u,0x3d957d95u,0xbe0cd7fbu,0x3e52bbe0u,0x3d9d1dd3u,0x3c6718b9u,0x3e700288u,0xbd46ee87u,
0xbc37f489u,0x3e27d9e0u,0x3dc583ffu,0xbc5b7177u,0x3e492d06u,0x3cafc7d6u,0x3d89fe91u,0xbd2ee72du,
0x3cb109acu,0xbdf48db2u,0xbdc53b68u,0xbd643aa0u,0xbe7449a8u,0x3dce237cu,0xbd8b9422u,0x3d02b5b0u,
0x3c8ddcd3u,0x3d975d5cu,0xbd63594cu,0x3c3f1714u,0x3d0ffe72u,0xbe59c8e0u,0xbe153fd3u,0xbd011691u,
0x3d7f31efu,0xbda36322u,0x3de85108u,0x3e8cffd7u,0x3e0a68abu,0x3e4a339eu,0x3d480d42u,0x3e76b387u,
0x3ec02dd3u,0x3e3d8fe3u,0x3e35c65bu,0x3e17a7ebu,0xbe5fadeau,0xbe35292bu,0xbc54c700u,0xbe662a67u,
0xbd0cf51fu,0xbdce186eu,0x3e70d6bau,0xbcc8c4a1u,0x3d850ab8u,0x3e18f8feu,0x3e539bdcu,0xbe0642a7u,
0xbe0dde45u,0x3e071e43u,0x3e88dc14u,0x3dbe6183u,0x3c6ed460u,0xbdcae356u,0x3df082fdu,0xbd945341u,
0xbd50f438u,0xbd41137eu,0x3e7756b0u,0xbdd1e000u,0xbd8e8905u,0xbd2a7a68u,0xbe0ee28au,0xbe9214b3u,
0xbde745cfu,0xbde28605u,0xbd8c2accu,0xbcb0b50du,0x3e961823u,0x3daddf02u,0x3e8385fbu,0x3de02636u,
0x3d78fa93u,0x3e10ea17u,0xbe037308u,0xbe7db546u,0x3dc36764u,0xbe0866efu,0x3e004bdau,0xbcaa1a82u,
0x3d9219dbu,0xbd30819bu,0xbbe71dc9u,0x3d647ecbu,0x3d5f4b6cu,0xbe3c0f7eu,0xbe9a57c9u,0xbe218646u,
0xbd600896u,0xbf028590u,0x3e8d2659u,0x3e601d05u,0x3d5ec070u,0x3da4b691u,0xbe69fb32u,0xbec0abd7u,
0xbce0cf0au,0x3e9aef05u,0x3e0c5f2bu,0x3db956d8u,0x3e0295c8u,0x3e251a57u,0x3d0db765u,0xbe4f4e5au,
0xbdd120d0u,0x3e0faa08u,0x3d5a6ff8u,0xbe31cca8u,0x3ddf3bcbu,0x3e0b9b07u,0x3e6193bau,0x3d8d639cu,
0xbc4c6d3au,0x3c1af19bu,0xbdfc3e41u,0xbc8c3748u,0xbaf7f25du,0xbddfcfb5u,0xbd51e6b9u,0x3da4a1ddu,
0x3d0929afu,0x3d0549efu,0x3e5bd27fu,0x3e1d4ffcu,0x3d15e53bu,0x3e2c175fu,0xbd74fde0u,0x3e289226u,
0x3da2a74bu,0x3d3d4911u,0x3dd14f53u,0xbe5cde63u,0xbdc0656cu,0xbd3e9359u,0xbd423814u,0x3e071c75u,
0xbe26c85au,0x3e50bd68u,0x3dd6ed5du,0x3d99c1f4u,0xbe96cbb1u,0x3de46b2fu,0xbde9b41fu,0x3d910a68u,
0x3c901ef1u,0xbd70dbc5u,0xbe0ca782u,0xbcbf36f6u,0x3daab8b8u,0xbe70bcb9u,0xbd3e26c5u,0xbdaea9edu,
0xbd20a4f8u,0xbd0cb697u,0x3c06b14fu,0x3d5fc353u,0xbe6427d9u,0x3dc7853cu,0xbd9614d6u,0x3e931682u,
0x3e2d7eb1u,0xbe2e1c03u,0x3e26f918u,0x3e40e5dfu,0x3e28c4d3u,0x3e0fc258u,0xbd555781u,0x3e4b7e35u,
0xbe3d6293u,0xbe9e6d19u,0x3dd57126u,0xbe745de7u,0x3d2cafc2u,0xbdae9d45u,0xbe304bdfu,0x3e1d8fd9u,
0xbd2dffceu,0xbad39a76u,0xbe2b36d6u,0x3b0b3c8du,0xbe1b9bc2u,0xbe147d0eu,0x3e1a767eu,0x3d54439au,
0x3d8469a3u,0x3e47e3d7u,0x3d23e614u,0xbd068335u,0x3e8af377u,0xbdb2a84cu,0x3e9309ceu,0xbd46a2b5u,
0x3d3a9b41u,0x3e8c3ce4u,0x3e0ab196u,0xbd26881au,0x3d901f6bu,0x3e5ca9cdu,0x3d899464u,0x3e06438eu,
0x3dda0ef6u,0x3d220e21u,0xbe5b01f4u,0xbd9257dcu,0x3ddaa3bcu,0xbe18ac35u,0x3dd8cf0au,0x3caafb2au,
0x3e36af6fu,0x3dfad554u,0xbcce60adu,0xbeab9bceu,0xbe096153u,0xbd85115eu,0x3e4a3cf0u,0xbdccbaefu,
0xbd44d825u,0x3e25a3bcu,0xbef6d06eu,0x3e33527cu,0xbdd4e8aau,0xbe6c28f9u,0x3e0c6305u,0x3d25ec13u,
0x3ec77fffu,0xbe8a5183u,0xbe0e1459u,0xbd9b9cbau,0xbdf05b7eu,0x3d767865u,0x3ddab6d7u,0x3e0d483du,
0xbdf645fbu,0xbd32a652u,0x3e34dbfdu,0x3cd71b56u,0x3cf96a71u,0xbe15bc9au,0x3e560c30u,0xbd74c9deu,
0x3e078684u,0xbd396a78u,0x3da52a7cu,0xbc2446dcu,0x3e2f41e4u,0x3e09f663u,0xbdfbb5b7u,0xbeaa1fd2u,
0x3df0f842u,0xbd8cd6d2u,0x3e25096bu,0xbd294486u,0x3d3ff1c8u,0xbe0ee097u,0xbe77c222u,0x3e8e4298u,
0x3de29224u,0xbc8870fdu,0x3d9d4e84u,0x3e107a22u,0xbc1af916u,0xbe704396u,0x3e7730e0u,0xbd42cc42u,
0xbdcdc000u,0xbd9a234fu,0xbe12b541u,0xbe1f2a2cu,0x3d54d79bu,0xbd0eb6c8u,0xbcdafc7fu,0x3e290d0fu,
0x3e1552a6u,0xbe2cb6ddu,0xbce695a5u,0xbd304179u,0x3e450fdau,0x3cb21355u,0x3d54d9deu,0x3e6a2ea6u,
0x3b8aee38u,0x3c7d1b62u,0xbe301518u,0xbe7aecb1u,0xbcfb13f1u,0xbc0560d5u,0xbe3bd6a5u,0xbdb7e0a0u,
0x3dc3eba4u,0xbdec77e9u,0xbd85b52fu,0xbd5b1e9au,0xbe10155eu,0x3dfc6b54u,0x3e34a256u,0x3de02301u,
0x3e450744u,0xbe81e4dfu,0x3dd8f6f5u,0xbc978839u,0x3e124ea6u,0x3d383494u,0x3e3dd5ceu,0x3e77440eu,
0x3e562428u,0xbc9d4405u,0xbe2a18deu,0xbdbbec10u,0xbd86c46cu,0xbe0b886du,0x3d1227dcu,0x3de69affu,
0xbd532679u,0x3db2c20cu,0x3d2be8f2u,0xbd84f078u,0xbc208335u,0xbe11dd73u,0x3dbad9a3u,0x3d46cb23u,
0xbe0aad4bu,0xbc9a9935u,0x3de62e33u,0xbdc72836u,0x3d92a903u,0x3dfd4c4du,0x3d3f5cd6u,0x3dbcd42bu,
0x3e461e40u,0xbd38f349u,0xbd92b1c8u,0x3d32ba7fu,0xbd47a054u,0xbcda45b7u,0xbce0431fu,0xbdf6651eu,
0x3e8d625bu,0xbc48aa11u,0x3c9659d7u,0x3e40db5bu,0x3e15ff08u,0xbe4f18c3u,0xbc75a79fu,0x3dd5da77u,
0x3c8f5730u,0xbe644d52u,0xbd71a9d7u,0xbd23826bu,0x3dabc056u,0x3e0b875au,0x3d262f92u,0xbcaad2a3u,
0xbe30daf0u,0x3d1e344au,0xbe7935b8u,0xbce1c4ecu,0x3cab4c01u,0xbe2da4f1u,0xbd68fdd0u,0xbd7dfd2eu,
0x3d3a00fbu,0xbe0f6e85u,0x3e60913au,0x3d9c7997u,0xbb68d491u,0xbe82a4d2u,0xbe201c98u,0xbd324c29u,
0xbd39f779u,0x3e26448eu,0xbe6e418au,0x3daf7aa3u,0x3daa487au,0x3d6b84b6u,0xbc7e6975u,0xbe752322u,
0xbdd721dbu,0xbe13cffbu,0xbd4da7bcu,0x3c0580bfu,0x3c17756bu,0x3dec463bu,0x3d8f5831u,0xbd701772u,
0xbd56f7feu,0x3d91e7d9u,0xbdbc0ca8u,0x3e126cfdu,0xbd6bf294u,0xbdea756bu,0x3dcdce0du,0x3deaefc6u,
0xbde08c3fu,0xbe8e7b54u,0x3d94e928u,0x3da7923cu,0x3dab0579u,0x3c9a5ffbu,0xbd107fe2u,0xbe53e607u,
0xbd373b75u,0x3e133008u,0x3d7b3cc1u,0xbe1ae3c9u,0xbe43941bu,0xbe7538ceu,0x3d86c492u,0x3cd05debu,
0xbe8a3fa4u,0xbd800deeu,0x3e8ceb8du,0xbe8382d4u,0x3ce46514u,0x3d94e721u,0x3e592af1u,0x3c6107fbu,
0xbd36a0deu,0x3c0dd450u,0x3e7d7addu,0xbe300c1bu,0xbe461f1bu,0xbe0a85c1u,0x3e0f7615u,0x3e4df25fu,
0xbddfd12du,0x3df028b3u,0x3c0826dfu,0x3e249bf8u,0xbc23605du,0x3d24c582u,0xbc73dcd0u,0x3bca68a6u,
0x3d7292c3u,0x3dd6c7e6u,0x3e7736eeu,0xbd8e3452u,0x3dd66e99u,0xbd9090acu,0x3dad34c4u,0xbdbe0c3du,
0x3e0add2au,0xbe0390e7u,0x3e48a5afu,0x3e28c252u,0xbd08568du,0x3ce02c3bu,0x3e27acd5u,0x3e683010u,
0x3eb753a9u,0xbe4afdf9u,0x3e34fc83u,0xbdcce840u,0x3cb8115cu,0x3d62bab5u,0xbe96cd9eu,0x3d7fb063u,
0x3dae8925u,0xbdc133cfu,0xbeb9b6ceu,0xbe4655c1u,0x3e345f34u,0x3e2393a6u,0x3d65ce5eu,0xbdd9e95bu,
0x3dd74243u,0xbe0e8543u,0xbe603b18u,0x3e7d4b8eu,0x3b2c53b5u,0xba0e4433u,0xbd322c63u,0x3e7b9420u,
0x3c9e0e21u,0x3b35e91cu,0xbcd6c058u,0x3cc541d2u,0xbd845477u,0xbc89fda5u,0xbbcb51b8u,0x3e1b93b8u,
0x3e3d4836u,0x3d7d6af3u,0x3e260537u,0x3dd9782bu,0x3e3b779au,0x3d5067dfu,0x3e04d4f9u,0x3e0468f8u,
0x3d59013du,0xbbb74dc9u,0xbcdecb6eu,0xbd82e97bu,0x3d7a2d19u,0x3db1445bu,0x3dbcf6c5u,0xbd1002ceu,
0x3e06c6eeu,0x3c8e5b76u,0xbdb092f6u,0xbd15a594u,0x3d3d7aa6u,0x3ec38f99u,0xbe880b60u,0xbe160710u,
0x3e01160cu,0xbdcf5161u,0xbc911294u,0x3d2d6a3au,0x3e5f1cc1u,0xbe1f3ff0u,0x3e231f6bu,0x3d86fb63u,
0x3dbdf149u,0x3e08c27du,0x3c2a4c29u,0xbd081926u,0xbe310d34u,0xbd2d5a8eu,0x3df265adu,0xbe4bb02fu,
0xbeb1991bu,0xbec32fd9u,0xbdc1bbceu,0xbeb3130bu,0xbe40afcau,0x3e6e409cu,0xbd1af69eu,0x3e0976e9u,
0xbc213d53u,0xbe14bb2fu,0xbe45a93bu,0xbd7d7a58u,0x3d9bebadu,0x3e4b243fu,0x3c38b0dau,0xbe314526u,
0xbdbc98c0u,0xbcef6ddeu,0xbe0a27c1u,0xbe4a655du,0x3ea0ddb3u,0x3e66b27au,0xbe44c2c1u,0xbd75563cu,
0x3cc3a877u,0x3d178018u,0xbda394fdu,0x3d24bd53u,0x3d0785b6u,0x3c699cd0u,0x3e1a21e3u,0xbd72d155u,
0xbc62a1f5u,0xbe0464a0u,0x3c84db61u,0xbe0debe7u,0x3ceadb2fu,0xbc588e5fu,0xbe702cebu,0xbc704abcu,
0x3bc8e450u,0x3e9dfaeeu,0x3e23920cu,0xbe3e2e6cu,0xbd01dfb7u,0x3d9f5c55u,0xbd3801dau,0xbc67233bu,
0xbddbc6e2u,0x3d34cc71u,0xbc8f4595u,0xbdcf02b4u,0x3d61e11bu,0x3e0fbbecu,0x3d3b6f67u,0xbdecdd1cu,
0x3c838792u,0x3d99b6dfu,0x3e12d2bau,0x3df85e76u,0x3dc00799u,0xbb164a7au,0x3d5f61fcu,0x3d8b82bdu,
0x3d0b7e90u,0xbbff6dcdu,0xbdddf638u,0x3d8e9742u,0xbdb7c8eau,0x3b0128d3u,0x3e5a4650u,0x3dc8e810u,
0xbd4ea7f3u,0xbe39708bu,0xbe8c5d95u,0xbe0b8779u,0x3d0223c4u,0xbb987d17u,0xbe68d042u,0xbcf5d843u,
0x3d9bd0ebu,0xbdfe347bu,0xbd8382bfu,0xbc8a9909u,0x3e56168cu,0x3ccf5bcau,0x3e380287u,0xbe49fe03u,
0x3e4c6ffbu,0xbdac1660u,0x3da3413cu,0x3e84a610u,0x3d5c6ec2u,0x3d9caa45u,0x3e664b90u,0xbdc63aebu,
0x3e209c55u,0x3da7d5a9u,0x3e1c4cd0u,0xbdb61ba6u,0x3c8881fdu,0x3da183ceu,0x3d07b8bau,0x3cdc55b8u,
0xbdeecdb3u,0x3dee76f8u,0x3a99235au,0xbbddc9f1u,0xbd1d2be9u,0xbd00e3eau,0xbe0810a7u,0x3e42946cu,
0xbdeb80f0u,0xbdf25878u,0x3bd8369fu,0xbe1a33b3u,0xbe3157d9u,0x3d7d19ccu,0x3c35d0c7u,0x3ceaf592u,
0x3db5826cu,0xbdd0e022u,0xbdb453bfu,0x3c944e4au,0xbe8549b7u,0xbe29a7aau,0xbd42e546u,0x3dd86287u,
0x3e2db9a3u,0x3d80a27au,0x3eb2f662u,0xbcba410cu,0xbb7afffau,0x3c7f3123u,0xbe84a380u,0xbd11a7c7u,
0x3e168162u,0xbd7d545bu,0x3e03bce0u,0x3d81054cu,0x3e414efau,0x3d907790u,0x3d186611u,0x3e247ed4u,
0xbd7cfecbu,0x3e715233u,0x3cc3d51cu,0xbd941a90u,0x3d28fb47u,0xbe2daab5u,0x3e8b3be8u,0x3e8cb290u,
0x3e1d4e69u,0xbdb0acd1u,0x3d4f996du,0x3dc4cf8au,0xbd29a1d2u,0xbd038894u,0x3da5667bu,0xbdac4bafu,
0xbc618e00u,0x3dd9580fu,0xbe42c8b2u,0xbd60ac49u,0x3c51ff62u,0x3e0e1af7u,0x3d944651u,0x3dbfe642u,
} }
#else
{ {
{
"\212\015\343\273i\330A\273\320\251,=\304\300\345=\311\013\203\275\024\316\315\275\263\003\340\275\000\317\302=j\335\366\273#\301\265\275\242>\226\274\311\034\207>]\320t=%+~=\212\227c\2754\367\222\274\357\347\320=\012\211\366\275\177\327a=\211(/\276\371\343\006<V\272\256\276\300\361%\276\035/0\275\2712\200<\011\030@\276\3471\251<\233M\334=\311\303\330=\004\262\261\275#v\301\275\220\217\370\275\033\246\273=\316\273V>\005\267\232\275\334I1\276TX\236<\346\243\203=\364>\257\276\357\325\207\274\361x\206>\210\301\373=\026\317\260=\007W&=\201\037\014>\360\3023=\310&\004;\313\312'=\271\236}\274\000\023\305=\230\077w\276\246}\322\2739R@=\2754/\275u\201\277=0MU>\350\353M\276\276\134\031\275\244\321\354\275,;\003\276\213*E\276\246\303\357;y\216\226< \016T\276\250\002r\276\343\212\324=\267\310\356<\265\376\311\274\031%r=\205\217&=4e\324=\001i7=\224z\324\274r\2348\274'\024R\276\203Y\227\275\221\366*>br\213\275t\343\261\276*\273\017\276\020\0259\275\315\322t<O\327\372\275\312\205\223=\251\027\230<\247\305\034>\020\330\210>~\253\270>\231\366(>0\364!\276\360\347w\275:\225T=)\315|>&\374'=l\3152>\344Mh\274\250\367\261=\251g\204=\251\253\344\275\243\317\203>1w\036<p\377t\276BE\240=\312\234R>R\232\231=-m\232<}\031\345\275\077=\217\275b\007\000\273y\352\270\274t\205u<B\254j\275%\230\021\276z\273\302\275rl\014>\264&\235\275\244q\347\275\312+\206>\027~O>\211N\312<\263\250\211>\276\361\235=]v]>v\201\034\276\007b\014\276i\267\370=\350m\027\2750#*>\235\364\223\2759\231a\274\245\367\316\274\343\311\222\274\364\177\366\274;\300\355<\3565\303\275t\2365>\011\303\300=\213:\357=\213\304]>\323\256#\276\354\274\350=\021\312\363=L\363(\275\341X\011>\026\032U>\222\274\307\275\310\031Z\276\026\007.;\011\365\223>\376'\020\275\223\373\276\275\276\265\322\275i\326!\276\3640H\274\011{.=f\216_\276\361\0017>Zj\024>KG\024\276'~[<C\077\341=\035\2415\276\2278'\276\200\034\352\275\320\260\004=\211S\347=\0137\007=\230\324*=\026\354N>-T\264=\013\313\245\275\227/\245\275@\301a>\267\211\016\276*\334\226=S\376\355\274U\313\341;\326\337v\275\002G%\276e(\241>\261%\353=\007\212)\275\205\033J\275\261f\036>\025E\242\275U[\011=\362\3221<\325\212g\275+\012\364\274M\246q\274\334>0\276^\255\367\275\032\314\262=\314\317G\275\262\260\336\275rL\246=\211/\011>\015l\316\275\077C\203\276r\301\007\2752TH\276<`\252=j\213\042>\003A\235\274#B\314\274\237&g<\366\317\276=\326c\361\2756\327\270=\001\346\304=\317\023\356=Lt\351\275\201\325x=N\2227>\210\026I\276k\241G>\325\021\270=\325\275M<\277^$\276]\267M=\316\021\237=o\247\010=[\217\210\276<\017\305=\205\243\223\275\2157\012\275\224\314\364\272M\020\001\275\316\373p>\203\271S\276\333u\247\273+Z\235\274\021\020\323=S\352\234>\227\021\004>\355T\206>\365<\301\275\004\361-\276\000\326|\276H6`\276\014E\016\276w\251\010\275A8{>a\317\022\275\215\351\011=\305\303\325\275\263\257\030\276\333\266\267\273\332r\321=\226\247\301\274.xq>D]\232\275\363\324i\276\345\346\006\275\303\330\004\275Gv\262>\023>\0158\242\275\376=\31484>\270.\200=\377\217K=b\230\351=\077\027Q\276\331\352\351\2754\226\264=\237n~\275\276\236\277=\316\276y\274\177\345\000>\240\206\000>\077\177\220\275\216\265\306=\22535>\362\310\317\276$\024\301<\211s\305<\210p\307\274A\000\036>=\314x=\024\077M\275\021[%\276\374\262D\276\014\002i\276\341#\014>\013\344j\276\134{l\276\217N\006\2762&$\276EA\017>\253<\236>y\003Q\275;\004\210=\241\011\035>\345\375\037>\255e\215\274#\3763\276\370\246\251\275\320,i\276\326\042\366=-\371T>8\026\204\276\304\355\262=\005\256q\2754k\007>A5!>\320\311B=\367\322\217\275\227\331\370\274)\217&>\353\252\266\275\203(\241\274\306z\004>W*\344<\217\026\005\276\257'\321\275\252\240\023>\201\344\255\275\271\334\024> S`>\267\222J\275\252\277\223\275\021\237\345\274V\371\306\275\321f\000<\134]\227\274\250\020\250=\325\210\340\274\217s!\275\022\354\177>\247\263\341\2759\260\241\275\353r\344\275\364\327\366\275\026;B\276\375P\214\275\231\315\341\275\003V\013>\233\344\354=\354\267D>r\033\352=p,\025\276\000l\246=\242\305\211\275\212f\010\275\252>x\276K\307*>\203\002\030>\237\351\275>*Rx=\305\302\017\276\356D\032\276p\243\265=\203r\247\275\273|\032>\254\333\001\275\077\311\262>\335P\267=\207\246\360=\005\360\261=\022g\017\276o\203\236<\0163\302=8\205\345=\037\232I\274\371c\213>\023\214\350>\360\263\321\273\277\2642>\227\0209=\316\235&>\207a\272<\355\2533>y\343\201=\077|\334\274\315G\020\275F\312\230\275\316i1\276v\205:\276\267`\201=\214\345h\275\376\253\251=F[\213=<xE\275\360\302\002\276\205|I\275\353\003\355\275JQ\320=\347\214+\275\034\262\021\276\266m,\275\236\257\377;\007\221y=\012I\026>1h#>l\030\223\275\217\240\005>\251\372\201>\2236Y>E\372z\276\232\310\303<\201\212\202\275\022\200\252\274\333'v\276\341g\007>N\376\321\275\036\250\237>\206\206w>Sz\036>{I\257\274<*\223\276\307\210\324=\241\006\276=\343\221\244=T\277\324>@5\307;\023\257I\276v\346\262\275\323o\262\274\221\273\324;\021\341\223=a\372\205\275\265\307m=\312\321\007>\364au\275\316F\364\275\344\342\002\275g}\232\275\352:\233\276V\373q=\363Y\325<[\375o<r\364\027\276\36586>\230\003\213\274\344\321f\276WA\346=\007\360\366\275\307]@>D\026\340=\207\213\002\276&t\001;\234J\204\275ej\261\274\002~\270\275\315\377\207=L\330\240\275\003}\340=\316\221\276>\242\035\326=c\261\303\275\335\272\031;\226\026\307\275F\3253<\247\250\000\276\244\323\241<P\035t\275|r\326\275\234\304\235=E\325\077\276s\310\2108\363ki\275\263Le>\227[g>C*7>\256Il>\000\350\302=\273}\315=\311\246\215\275\335\275k\275\245PD=)\263\334\275P\200!\274 O\333=\022\323b\2758\330\025\276\215\017>\275\013\257\370\275\014\336\243\275\342\201$\276\210\177\017=\201\210\266>#\303\042\276\2478\225\275\330\033\322=\337t/\276\025T\264;\216\252\212>\035\077\202=V\313\216>\3305\221\275\177\367\303\275\033\306\323=b#O=LP\210<v\223Z=\031\275\231\271\217z$\276\200\374k\274\006^\204\276\375\237 >",
"B\363\011\274\031\264\316\275\020\361\203<!\354\003\276\333A5=H\211\263\275\322\226\314\274\331\341\035>\355\371\030>b\025\224\275\210u\213\275\212\030\354;G\336\353\275\222\341\271=\334\262\250\274\301mX\276(Y>>\025:\004>\204U!\276p\202\303=1\327\254=M=\262=\230\272\017\276\241>0\276\242\316i\275\002\367\377\274\373\333\240\273\336.\007\275\311\023~=\350\005\361\275\374\261n\274\252\3443>\032\372\305<\305\377h=\223\037\253=:jM>\316\333h\275\322\265L> Gi<Z|\301<\217\204:>\266J\244=M1\037>\360\032M\276\256\344\207=H\211\205>\026\357\301\274\016\362\235\275\021\010\025='\320\244=tU/\275\210\327\322\275`[7>;\201Y\276}\273\357\275U\243'\276\273\352\003>\267\361\246<\236o\014>\216\333\357=/U\244=sYg\276\005bV>\240\333\001>\345\012\324\273\3401S=\220Jb\274\256^#\275\004\347F>~\246\354\274\026\327\372\273\336\015\077=\042\0109\275\000\351\306:o\017\222>\000\330:=\237C\022\275\015\012\034\276f\207\262\274\310\257\240\275\323\260 <>\311\372<t\020\301=\336e\042=j\0159\275\200u\270=\315S\222\275\202O\236=\3504\276=Ig\347=\343)A\2769\376\022\276\2123\202\276\324\351\031>\337o \276\267%\265<\244Vr>\246\343<>\317GS>\336\246J\275B\3459>\303m\344>2\351^==\306\237=S9/\274[\203F\274\261\307\231=e\020Q>\324=\307\275Pt\203\275\211\321A=\316\205(=\002#I>\357s\243=\355\260\264\275$F\332=\351\326\011>5Y\023=\352\242Q=\367\232\370=\272[\006\275\233\232\000\276\375\366x\274\231kr\276,\356v\275HX>\276\312I\016\276\210\017\202\275\237$\223\276,\026m\273r\330\307\275\2547\023\276\233Yq=\235\356\236<;\231\315=e&\204>UBn\275\251m\203\276>\246\363\272\307\256\261\274\233pD;\315Mg\275\252F\260\275\261\233\350=\021[\362=H@G\275\217\006\000>\036\005\343\274\301\0045\276\345\354s\275\250\215\333\275/\326\037\276\000V\356\274\370\223\225\276<\262\324\275PTF\276}_\222\276\231\2475=\004\205\361<\236\317m\275\254L\255:\014\177\311=\363\307\373=\326\234\024\275r\026\243=\363\251\004>vz\014=\205\324\263\275\316\013\301\275-\325V\274\210O\322\275o\033X>_7\235<j\226\311=\233\210\205=W\376N\274\350\222\213\275I.\242\2758\023\202>E\012\024\275\240O\347=\367\205\034=X\243\222=\212\244\355=\314z$>\275\363'>\012\3136=\361\275\361\272'4\265<\012QZ\276.\006F\272\375\254\323\274<\030\264>\274\012\077>\204m\202<9r\201\275Z\252/>\300\360\371\275I*\257\275\026n\304\275\271\366\225;\237\314\301\275\016\262C=\377D\215>\220`\371=0$\354=\273\223\350=K\207\334\273\351\221\264\275\334`\010\276\376\352\376\275\310\014\000=\237\242\253=eS\205\276\330\033\231\275\021\221H\272\237\273K\276\004'\262=\277\335\361\2754%\001\276u\332\311\275\335\373I\275n\201\316\275\354\375\362<d\346\366\274\3572\227<\377\077\342=:t\020\276fjk\275\350Y\300\274`4\012>B\333D>wr\304=\232\323\226\276\360\260\016\276\326\235\232>\260,q\276\254\271=\274S1;>\023\032\030\275\211\252\313=\325\301\016\275\031\327\242>\016EI>C\366\013\275\341\022k=\204O9\275\304\240\253:5$\335=Z\202w;\024\302\014=\305%\011\275\134(\002\276\263\362`\274\037\363\214\275\204e\251\273jw\246>\241\217g>bF\037\275\022\322\021\276hC\224\275\015\261\346=z\2106>t\217 \274\212x\257=Z\3518>\327z\241>/\316\261\276/)\006=\364\223^>%\000\262\275\250B\006\275j\026]\276\265\362\024\275R\027\202\276\245\011\027\276`\343s\275.\266D=V\325\241\276\134\323\234\276\375G/>\313t\304<B\216\201>9\225\357=1\212\320\275'\227\015>VHO>U\346\005\276\306\351Z\276Q\313I>\275\212\006=\220*\302<\030Sh\276\005\312\203\275og\311\276`\265\005\275\026>\344=\216\342\242\276\324\031\221\276_\363\020\273\2668j>\232$\202>zK\032\275\214W\017>\324\271\011>1m\342=+\313\336=\364D,\274U\026\300=\360\364\016>g\333\332>\022\004I>n\347\210\276_\207\004\276\214\203*>(\212k=,y\227\276\227\317@\275\316\003\344:]\237'\276\373\012\032\276\264\222\223<\0370\013\276W\014\035\276d\253\042\276\2167\363\275|\336\034\276h\365\243\274\201\032\254\275N\220:\274e\006\031\275\003\016\202=\245Z\011>>\301a>\344\224c\275\006ra=\347\216\302\275\230\353+<\023\306q\276\134\340\336\274\341\205K\275\311\277\230\276\200\204\022\275\037\332\324=\324\035'>l\372\306\275\007\236\334\274\036\243x\275\237e\003\275~M/\274\217\201\014>\021\250\203>\363\001\032>e\021\357=\013\243w=\225\323\327\273\365\310\313\274\134\220\032=\254.<\276\355\244\042>\313>\240\276\341\013,\274\362\227\206>e\2531\276t\307\211\276\347\226W>P}e>\275\360\236=\344\321Q>t\375\211\274bv*>T\245|>\351G\003>\334\323\003>\354^\222>\253r\212=\323\232\364\275A\042\225>l\343\373=6w\300\274\222\3575>\334\216@\274o^\001>S\347\225\275!\366\357=\366m\262\2752&O=\001\3718\276\244\214K\276\005\007\243=\372\016K=\321#\355<\042\017\026<$\217\265=\017p\267\275\255j\330;\203\014\242<=9q\275\356\343!=\225\023\273\274\265we\275\214w\263\274\077\217\251=V\374\220>i\254!\275\223]\344=`.5\276\360Pt>\316\010\243</l\322=_\213\032>)b\215>\276\242o\273\000\376\014=\006\3741=\023_\271\272\000 \030\274\242z\253=N\232\012=\255;\221\273v\203\211=\036\031\036\276\361\317\231\274Q\241F\276\224N=<\365\367\347<\353\206o\274\033\211\217\275\347*\347\271\374{\017\276\336u\224;|0\004>+\026D<\223\312\223\275\231*\217\274(\322\220>\2724\237=\021e&>Q7\251=R\307\364\273\274\246\035\276L\016c><z\004\276yr\221=2G\337\275\017\271\026:Y\376\017\276d\000\300\275P8\024>\010\371\237\274\235\024\030>\274k\265=q\212\362=\250\134\002>\033:\377\275\243Ua\275u\230!>~\205\250\275\340ex>\307\344\275\275\372\326\007\274\271C\001\276l\2455=\267\035i\276\026\372\013\27616)\276\331SX\273\301d>\275$gr;\241\321$=\345g\003\275\276'~\275\205;\024><$\243=\033|!\275,\014i\2748x\375\274uJc=)\014\312\275\330\010\213=\341\360\230\272:\327\226\276\223\220\213\276[\215\357=B\307L\276\313v@\276\212.\015>\274c\376\2751LY\275^,\037=\366\021\017\276;\242B\276\352\017B<\220t\013>\337\216\134\275b\370\017\276\253)\243=<g\251\275|n,\276\232\335\010<",
"\342\215\221\275\261\310\077>\300 -=]_\030\276\254h\321=\300\224`>\343Po\274\017\023\276\275\304>\347\275\213h\323\274\024[\341\275\313e\374\275\243\260\225=\374\225\365=\232\300R\274X\215\323=\010\204\276=0\313\201>:\357\021=\356\357E\276\222\352\022>B\376\305<\370\030\227<={\206>\362\312r\275w&S<s\3715\276\326\315&\275b\322\232\275\014\262\322\275\245\343\227<\244\335)\275i,\227<'n\322=\134\312\015\276\364\316\241=\245|\253\276\315HM<\263u\015=\006\350\246\275W\224c\275\021x\314\275\252)\244=q\203\276\276D!\036\276N\015H\276Y<&=\033\234\024>y\220\042>8\005+=\252,\375;1s\274\2750%*>B\347\344<>\243\365\275d\077[\276g\242\023<\331`\334=\272SI> \254\372=\361i\310\272\363\134J\2746Jv>\030/\264=\265M\256=\270\302\240\275\247\305n\274\344<\375\275\010\234\305\275\221\037\366\275\036r\234\276Q8X>=`\365=\366\363!\276sw2>m\226L<iF\212<I_\357<\253\363\324\275KC\333\275\323y\027\274\232\021\256<,\256\037\2758\231\334<\242VF=-g@\275\217\305\221=M\351\374=C\320O=\227p\024\275\366\257\242\274\025\371+\276<\367&\276\0176$>\205\273\306\274O\012M\275\316YG>J\335 >\300\270\244\273\214\317\266= \353\244\275\011\344\277=)\314V>N\317\337=\335j<\275\360\370\015>Z\247p>\225\252E=r\232\024=\213\275\254>AT\311<\305+\216\275;P@\275~|\205>.+\210\273iO|=\0053\207\276\024\244\275\275N\363i=\353\343\372\275h\0100>\003\305\010>\237\200\263=\343\335I>x\262\251\275y8\277\275\246\261\305\275\177h\213\275\357\315q\276\026\215\340=$\300A\275v\272.<6\310\326=G\256\227\275\134u\361=T>}\275:<\223=>N\364\275\366Z\216\275\272\343)==\020\025\276)5\206;)\204\030\275\315\315\264=F\021h=6#Q>,V\351<\314\331;>_\231\210>:\243\366<\007\331\246=a\305e=X3\205\276\227\276\042\275\312\002\254=\331z\225;\301\324\242\275z\3339>\222\031\002\276\340\035\027\274\275\257\222>\341\3264\276O\337\324=Dc\005=\035\221.=\016\035\042\276/BM>\207\017\204\276\024\352Y\276v{l>\003\206\354\275\336\010\265=>wS\275\230.A\275\331;\252\274\257:\264\274\373#\042;0\352\257\275\007\222k=\2244\307\275\035'\323;R\346\306\276\255\367+=)\033\240<\033\022)>o\205\042>\006:\303;\201\311\272=\362\246\222=y7.\276a\257\241\276\276\2703>s\023\016=\265\365h\276G\272\361<\356\376\307=\310\306\357\273\026\263\357<I\315\267\276r\242\264=F\201\341\274T\177y>\244'`>\272VG>$4e>\222Z2\275\215\250\337=\236'm\274\371\205[>\345s\311=\224\024\204=\233\217\020>\355\250\025>\220KW>\367\227\372<\005\343 \2768\203\011>x:\200=)\325\014\274\205]\355\275\371}a=\313\254\026\276\323\246=\276\211\042`=\350\334\224\274\036\263\325\275\2746\250\274\007\236+\275d\007\241>\304KU=j\264\260=\201'\311>\347\206\203=\037\253e\275\035\257\217\276UP\014=\205\224_\276\023\272J\275\307\301M\275$\207\222\276X\356k>x\301\263=\225#\022>6\0772\275x\307\247\275-(\024\275\237\270[\275:\0224>\240\256\244;\370\031\251=\0112\232>\004*4>\0120b= \274\313\274\015\241\251>\261\037\222=|I'>\325\2669\276\317\0019\276\227i\011\276*t9=\214\266\354=\350\342\254\275sj\234\275\253\343\021\276\353y\266\276\217\202\000>\315\021\302=\205\246T\2767\2147>\325\3457\276\334\263\316\275\343\030\357\275\310\222\005>q\250\255<:n\221=\207\224\242>\217\352\033>\346\210\012=Sc\267<\204\234\022\276\252 '\274\240\201/>/\267\377\275K\177\330=\340\203\274=\203Z\370\275\314\312\316=\346\201N\274\214\322\315\275@\036\243=\225<&>5\030\314\275\2669B=e,\367\275\312D;>\200\275@\276\320\313\255\275\273Ph=\267\303\377\275\332o\224\275\323\200b\275\313\022E\275h\337\303;\023d >\200\027\341\273\206\211\233<rw\233=wR\344=\312\337-\276k\005\360=\363\363\215\276\326\003\310\276\367{\232=c\300\345=\042)\347;\017\0310\276\276\207}>#\322\366=\315\200\213=\265\307\255<>\256=>\244\323\243=\241\221&>\224N\321=\266>\244\272\313b\251;r\014\267\275\276[\240\272\314\016\077\275\216\305h=3\254\000<G\203\300\275\265C\361<\030\316=\276\255\034\205>\311U{\274I\345\260={(\200>y\013\214\274\353\2144\275\017\241\254\275\372\026E\275n\244\243\275\203\363\313<ZMv\276\026\251\006\2751\351k>.\210l\276\223\042\205\276PT.\276\335\224\273<3U\323=-\330\314\275u:W\276\373';>h\202\251\275\364\313f\274\262\263\322\276\031\020\256=\363\232\037\276\334\361M\275LFI>\272\272#>6\341Y\275\252&\226\273(\307M\276\313\300\274\275\317\363\014\2761j\254=\261.Q=\377\272\206<Gr\034>E\024\303=h=\367\274\356\264\227\276\311\231\323\276N\266\244\275\037i\366\275\353\277P=\325\251\300\275\207B\007=\214\3548=\201\317\364=m\017\374=\332\377@>\021\237%=\350\355\354\274\335\305\015>\315G\001>X\012:;,\227\264\275W$\234>s\304\035>\177\312\366=p\322\272==3\014\276\020m8\276Z(\324\275YaD\275\325\030\030\276h\3702\276\024\351l\274\362\027\200\276\3218\336\275\205L\301=\031g`=\274X\007=\314Q)>\363\001h\276\0117\025>\225\231\001>\371\310->\237\335\343\274P0N>ln\213>\017;J=\217H0>(\2068\276\025\205\320=\003\237\024>\226\357\224\275\372q\225>H\361H=\324\2159\276\357'\003\275\261\243\345=\305\270)\276\313\340\030\276$\302\245\275\241W\362=l5\360=\332J\330\275I\366\203\274(\267\013>\274\356\177\276O\210\023=\324w\343=\000\240J\276b&X\276\354JJ=\261k\314=\226\034\032<\313\037\243\275\014\207\262=\323\207%\276\3169\331=$\365\042<\027+8<\301\011\276\275\004\077)>wM\276\276>(\355\274X\231&>y.J\276,\305J>\367\022\233=\276\246\003\276\376\316\377=y\222\202<\370\201\001>\255\270\240\275\366\206\237\273\324\037\011>^\342G\275\200\324\010\276*2\002\276\035\241\225=\177\360_>\000\364\213\275\231\026\242=\230\376\207\276Br\014\276\300^\377<\012\276l>\341\246/=\2143\251=\237\302\244=|\2356>\010\343\242\275)M\032>\206-\213\274\277\246v\275_K!=\205\322\271\273\300\303\267:\243\230\265\2751\244\006\276\033\212\214>\304\352\267<\335m\220\275\022E\266=e\254n>\361xX>\260\3324\276\352m\253\273\223V\224=+1\032>\016k\344\274k\010\324\275",
"\214\003\303>\0278\231>8'7>\356\370\317\275\316n\000>=\273N>S9\026>\177f!>|\207\027<C\264\037>T\307\301\274<nb\275\177\354\042\275\314\262,\276\256D\030>\256N\021\276W\232\036\275\337\203\361\275Ez\002\276'8\322=\026$=\275b.a<X\227\246>w\355\361<\206\004\277=\3231#\275c[\257=\351\202Q\276\241\372\011<\042-R\274\3608\230>\023\257\077<\264\364\330\274\237\302!\275\134.\031\276\267\257\254=\221\3668=\217\373\210\275\3439\255=\305\215\370\2754\250T\275}B\331\275F\3714\276F)z\276L\237\332<%\320L\276s\332\231\275\306&}\275\206\260\031\276x\312\361<\277a!<\325\334`;\345\270\237\276\331\357L>|\077\026\276cs\205=+\332L\273v\335\025\276\021\020\306\275\031\030I>\345\302j=\320\340\205\276 o\004\276\001\250\032<\024P1>'+\200=\266t\301\275\035\343\016\276\312\261\322=gE\325=\030\077\217>\252!\266\274mU\260=@}\202=\213\356A>@\261\275\272<\2451\276\313\2101\276\031\355\001>\303^+<\362|N>1\273\253\274\216\033\300>T0\272\274\253rH=\340\301\346<t\2252>\270\077\356\274\305%\010\276\077\234\344\275C9\317=\012\033\134\274\231\350\331\274\252>5\276\012Aw=R\212\305=\377\217/=\257\247\177\276\350\005\337<\302P\332=\223\236\213\276\244(L\276\020b\326<\305\010'\276\236\336N\276dw\013>B\241\024=5O\263>\332\345c\276\275\231\274\276\367\035+\275\374\0256\2769\217\001>Y\276\011\276\025h\010>8l\366\275\341G\005>\255\227\034>\256\337f>\256\221\346=\205\277f=\347g\023\275\246\205\212=\313\344]=\372`\035>\010oj\274}|\362=\265\177\346<U\266\012\274\265\275U\276\007\213t<\260;\232\276\352\312\371\275\201S\240=Kb\223\276\260\212/\275CrF><\317\360>\223\361e\276|\012w\275\035T\232=\027\005e\275\364fD\275\333}\205\276Z\273k>\017\246\314>\202\022\263\275\317/\037=^&\014>3\014D=\374C\246=|\342h\276\277\234^>\316>\030\275%\330:\274\347\030\021>\236\220\376\276\202\272\343\275\177\213\240=\306\3550>\006]U=\042\017l>\202\0323>\224v\250>\372yd>#\013I\276\337U\002\276u\267{>\002:+=-K\202=i\373\364\275c[\223\275\241F5\276\214_\325\275\025\321\020=\3050&\276\321\233\333\275\375}\217>\276\241D>\275<\274=\276&\322\274\201R\277\275\375\242\343\274Z%\240\276*\023~=B~\372=A\331\212=\032\245'=\345$r>z\354\272=O& =\2054\016\275\004\274\355\275\266\321\265=\372\323T\275\211\371E=\235S.>M\247\215\274\345*\007\274\256\2146\2769\373\077=\200\212\015>\033\011\221>*\202\016\275\263Y\201\276R\223(\276:\302v\276\367\247\347\275\227\312\365=-\366\267=\013y\207=\256\320\236\276\206w\274<\362\357n<pB\301\274$\021\020\276\134\210\214>\341\324\341<\035\035\203>\273\207\261\275g\334*\275\237e\220=@2\201>7^\324\275,\324\246\275\332\236\236=r\225\021<\252\376\343\275\273wb>\036\300a>\022\321w\275\346\341\000\274\257\020\356\275\345\202\225=\354^\335=\0110t;.65\276@\266d>\042\000\230>\016\316\312=\336J$>`+r<\006\221I\275\001\320\355\275z@\221\275\240\212\246>\321\357\031>\306{,>\371S\014;\214\025v=J\042c>\277\374\213=\336F`>$\334)>\273m\342\275w\257\237\276\221\214\354<N\262\357\275\377\353}\275z\212\357\275\254z\257\275w\230\347=\240rw=\364\002\227>5\304'\276021\273\030\2540\276\000\0362\275L\341J=TX\203;g@\264\275\351~0>\337\206\364\275\331\204\262<\270\177\017\276\333Wu\274\005F\077>\216\035\036\276;\326<\275\204\366\205\276\021\250\332\2752=\364\273\270\372\224=6\034\213\275O4\246\275\220\367\026>V]r\275I\036\275\275\250i\234\275\336\336J=K\214\275=\375F\001\275t\371\330=o\011\342\273y\247\027>~\0326>\200\014\372:\001\022\002>\261\005\206>\276yD=8e\235\276\360\230\023\276\274H\006\276\042\316\266>l\227\024\275{\254\017\276\327)\033\274vv,>\275\022\270\275\213\011\365\2747\303\035=\023\267\213\275z0\222\274S\316B=\350\340}\276t\233\334\274\367\230\221\275l<\333\275z_$=bH\266\273\1345\275\275\223c\237=\352\020\321<\212]\020=\306\003\323=\221\303\005\276n\012Z\274\317,n=G\372\214<\345G\336=\260\276\215=\025A\230=\367\020{\275\336\213N=\370-\213=\077\322\000\271}v\377=\004<\177>\025:6>\324\276\345=\301H(>\134\363\030\275\306f\011\275J\344w\276\367\034\331=h\310\010>\212\013\340\274'$\006>W\261\340\275\303\256\227\276\005\336.\276\207\317\346\274\012M\004=\353c\233=N\316\211\2766\370'\276\000\374\326<\003c\212=$5\231=\354\022\207\274`0\214>\236\031\256<\205\252\230\273:\020\035\276T\026\303=\036\214\377=x`\015\275\022~\240\275N\006\357>\002;\271=\260\027\320\275\256|\277\274\245\347o\275\261b#>/\276\042>\355~\362<;\200\212=\203[P\275\232,;>\306\243W>^\257\251\276TH\035\274\222\307\034\274\025\255%\276\225S\201>.\303\020\276\016*O\2763g\252>\256\014\020\275/NY\274\273\320\013>\016\2607\275/E\274=-\003\226<\276b'>f\207\017\276\332\036\243\275s\357\222\274\273p\231=~C\263\275\272\026Z;EN\336<\307\350@\275&\234\353=\271h\333<\363\343\257>|\213l<s<\013>5P\272=\327_\343\275\363d\247\275\216n|=\206`\252\275\262\256A<I\004\013\275\311\232\230\275\342 \037>b\260L>%!\357=2\323\215\275p\212J\274h\352\270=2\007\372=\316\255P>a\212\002\2765c#\275\321\376\352=A\365K=n\351\031\276,*\017>H\205\300=\376\363\244\274\266\003\314=\246\216#>\003e\017><W\270=$\265\025>\275|\213=p|T>\011\024\272:\367\3334>\0317q>5\026\253>\300\222\213\275\364Y\256>\263\235q>N2\025=e\222\354>\323\226)\275\353\365\026>\351\243\352\275\273\327\236\276\266\340\357=8d\200=\355\242/>c\201\333=l)t\276\037A\371=\273\376$>C\257D>\216\277H\275\201\224\003\276\026l4\275FgL<_U\013\276\201\321\260\275v\037L>u\274\226\275\027\316q\276;\077\262\275\3533\206\275[-\346=\241\002\013\275x\343\240\274\241\003\020\275\311\354\334\275\016\026\004\276\213\257\260\274\300E\034\276\025}\257;\335^\005\276\201%\215\275\015\275'<\224\227\365=\240\004\215\276\202\023\225\275QT\234<\0221\020\276\366\023O\275\353\260\367=\252\356\037\275\377\244\212\276:'\077\276\031\317\304\276:\2754>x\322\322\275\022\206\271=\177i\034=\324\206\022\276\334)\212=",
"\230\326C\276jl\233\274[\267\206\275\367\247\277=\304\306\347=\335e\316\275\312Q\250\275\261\376o\275\314\326%\276j\351&>9\042Z=db\011>\0043\331>\013\321\324\275`\000\373\275\025\3149>q\256<=\321n\222=\315\002=\276\031\304\227>_\320s<\324s\272\276\237\201\223\276w\364\312=\023\232+\275\2331\347=\027R\337=\264\035\007<*\355b\275e\003\317\276\340!m>\316\371\374=\251!J\274\042\2561>G\325\225<\277\314\241>\213\020\211=\353\344#\276\021\037=>\202\202\037\275\320\257\332=\253\206\251<\255\134\034\275\315\031\251=f\245\277;^~)\276\304\341R\272\210y\305<\317\375V\276-\321\031<\351\323\077\275\275\001\271=\272\330m=\217;\267<\251\340\251\275\370\302\012>v\010'>s\2258\276\245O\021\2765r\036\276\307\034\253\276s\240\260\273\077\0379\274'\274\304=DZ\251>Z\356\037>u\247\042>\000\271I=\034\326J\274\007x\001<\236\340\000>\227EK>H\215\234\276<\372`>0A\323=\220\002\315\272\252\026}=A\240\274<\365\313\266<\034\242\206\275 \203\004\077\322\315.\2753\252\347=R\236\223>\302\310\372\275|ha=3\267\213\276\252\326\027\276X\334\321;\303<\177>hN.\276\011ja>\350\004\261;\026A+\275\363\2046>:\261\343;\356\274\302\274\342O\301=\262\305\006\275\305\241z\276a\233\035=\202\331\302\275C\004\023\276q\221M>\207\364\026\276\211\341 \276\345x\242=\373\3656\275\015\347\220\275\355\276\347\275\363p\335\276\357\210t=\322\017E>\220\303x>\300C\275\275\310*\220>y\022\302>Y\210\367<_\236}>\244\241\306>J\345\177>\354-\333=\355f\037<\336\213\372\275\023\237\304\275EI\020\276\242\256\230\275Q\274\277\275\245\371\316=#H\021\276\226\267\215;c\343\011\276)\0351>7<\230\276\313\262\037>\134\237\210\276.\221N>\011\267\006>\275\201\215>\033\211\321>z\001\237>\222\341N>Ru\204>\3242\002\276\375\222n><R\300\275\303]\034=\360\277\001\275\211B\000\275\315\272S\276\027p\250\276\243\320\342\275\354\3443=\226\373C>\200r\377\275;\375V\276'\330:=U\325w\275\327\232e\275\303f\344\275}\334\235=\376m\306=\337V\366\273x3\231\275\225\214\237\274\023\322\020\274\004\224<\276\0264|\275\236\305\345\275\331e#\276i\310\226\274j\365Y\276\312\247,>m\242\274\275\022\207@\274\252\303E>L\370\215=\331G\202>\276t\016\276\347\250\225=k\310\026\274\360\322\030\274\022\204t\275w\077\024\276\277*$\275}V\214=\303yn>u2r\276\307\016B='\261y\2754\313\200>\361\300\232\274K\024\004\276\367\361\317<&\332J\276s\230\342=\366\242\036\276T\013\221>B\017\017\2750\033\232\275\274\320X\276l\265\316\275\276\200\020=\032b\242\2755\077q>,\233\351=p]\314<\036\035\035>\325I->\220\345[\276m\226\261=V\242\303=a\024{>\344nK\274\357\035\234>;\356\024>Q\206\020=/\352R\274{\337\226\276</<\275\321t\035=`\022\010>\024\246\355<\207\263\253=\077h\274\274Ul\042<.\324\214\275\220\304\241\274\314\021\242\275o.\227\275\272\203 \276\367\327F:\004\247\240>\303~\011\077\306\230\355=\2664.\275\271\261\341\275g\274r>\000\370\327\275\357\356\274>\006OA>H\261\001>\012d\015<\341\321\231\274\333\000\375=\232\267\134\276u+\251\275\224\002\364\273\004\273\377\275\340\225\245>|)\306\275\360u0\276g\212\353<\327\302\012>Dp\357\275q6\210\275{\206\006\276\235Q9>\017\023\227=\323\240\351>\305\014\266>6\244<\276L\250\006\2765;\037>~H\207>\325-!\273\233\020)>4\372\201\274\222Xz\276W\271.\275\371\011\220\275\227\216\277=\030\307\317\275d4B=#x\223\276\007\373\204=\255\342D>\020\022\223\275M\303j\275B\026\027\276\2063\345=-\274^=\301\0117>{\005\034\276!\014A\276kw*>f\004W\275\301\025\353=vl\032>8\311\033>A\354\320=\232\265\201\274>\324\361\275O\240\213\274)E\314\275\274_\350\273\353k\352=\367\250\242>:v\224\275\264\220\227\273X\177a<\020\000\017\273\377\1345>h\014\212\276;@\246=1'\330\275\2225\006\276\006\346\237\274\352\255G\276|F\225=\313\352\351=aj\354\274\216A\260\274\025\303\207>\227N4\276gn\221=\330\222\333\276\224\212\346\2754\373\021\275\200g\011\276\026dC>@\004\226>\307&\014=b\025\274=C(:\276\272\244\315=\365=\326<\313=\004\276\334jD>q\030E\274\364w(>+B\251\274\300p\210=\3301\014>\201FV<\0168\215\275\335\025e=)\245\011=\305\014\214\274\227\236T=\331\011}=\010\255\246\275UB\273=\0347S>0\230\373\275VL\023\275\246+\235\275;U\316\275\323\232\201>\263%>\276T@\033\275i\203'\275q\303\354\275\177t\245;\310\2678>\361o\324\274\007\020\304=\270g\344=\315hU>%\263\251>\352#n>\257\307\005\276pk\357\275\321\201\250\275\356l3\276\333\361\023>\336(v\276#\2509<Yij\276\242{6=\247\017\234\275\255M\274\276\272\215\247\276\020\272:=W\332e\276\030oR>(|\231\273M\266=\275w\325\302=\277j\014\276\254:Y\276\042P\326\2751</\276\027\254\253=<h\313=\275\247G\276T\200\307\275 Z\237\274\007\024<\275\207\375]\275\330\363C>\324\221W>\371\000\200=\201R\300=\316J\231\276\3602H\276\211\334\015>\002\330\024\275\352Z'> E\364=\337i\377=/\306V>\332\364k>-\372\274\275\077\251\315\275\177T`\276\227o\373<%K\021\276pq\033\276\020\376h>O]\364\275\300T_=\343\003\264<\277,(>~}\321<\320\343\256<U\334\200=\014\271\303>\027\273'\272\346\014\301=\004\017!>\254\313\260>\316\250\012>\275\236\302>\373\244G>M\207\210>I\3245>\334\276\324\274\343\374\232\275'd\303=\025\030y:\012\341\010>|\326c>\237\362\011=\023\310N=\356\355R\275{Z\224<V\351\020=\311\006\202\2768\373l=\034\035\270>\033\372\221\276\310R\242<\340\343\006>\033\366v\276D\257\347\274\261\347;\276D\037t=yS/\276`\211\213=A\265\277\2752b\032=W\203\007\276\263\303\204\276~\255\373<\011\024\363\275\263V$;\277\3045\272k\354\010>&2\304>\314\006\226>\333\247\302\275.n\034\276\336\011\267>\3558\277\275 \352{= \272\272=\306\225\372\274cw\357=dK\012\276\077\014:>\031\360\370<]\315\375=\020\011#>%\225\202>\246\264\004\276\336`\023<P\320x\276\250\256\233\276yS\010<qT_\274t\300\343=\323\316 \275\322\345\215>\134/\253<\347Y\032>\333\245\327\275\315\233D\276)\237s>\377\000`\275A\334\000>\257\366D\275\216\211\343=\224\201\006>\010\335\212=\310\223\231\275$X\027>\253\345\367\274\257>\343\275\266(1\275",
"]s\314\274\012U\321\274\271\316\214\276\365\031\225\275v\004\204=\263\316%=yc$<\270;\217\275\037\020\303;\370\276\277\276N\217\015\276\007P\271<q\342:\276\230TK>\370\001\305=\262\276\314\275\241\374(\276^\010G\276Z\364\003\275\320\374W\275\353W\231>Km\273=\252\035\377=\037\005k>\344# \275\372be<\305Wk\276\356\010\310\275\240u =,\335s\275\212R@>\327H%\276\346\363\013\276y`\212\275\220\335q\275\002\353\013<0|%\275\003\134,=bBW>fz;>V\226t\276\035C\034>\262\244s>_\266*=\017T\032\276w\227r={O\302=\077hV>\134\316\321=\301\250\277>\004\210/=\3261\307=\002\037\271<\032\077J\275A\340\257\276\205@&\276|+\317\276*\216)>n61\276\001X\207\276\225\311\372=w\242E\275H\011\333<\344\245\035>\207G\032>\245\225\223\275`\232\241\275\031\211\244\276+F\212<<i\005>w\263\273>s\200x\276\207q\373\275,~\275\274\255f8>\0200\217<\376f->QsE\274p\342\341\273\206I\036\276{ \036\276QG;>\370\325_\275\244\2628\276\0148\030\276\277\301I>\305\037\267>\241\276 >X\013\006>:\226\200\276`\203\276=I\331\262\275E\275\023=\224V\277\2745c8>%\355\004>\024\253\305=\036\307\237<\227\2432=\353j\231=\237A\313=\316\017\332\273@\206\227>\014#\042\275\350\223\306=\216#4>R\357\004\275 \325{<q\023K>\251C\373=\236Z\265;Cq\361\275\206\035<>\263CK>xP\007\276n6\012>\3615\357\274P\013\221\275{\336\347<>A5\276\272O\304=\353l\374\275\316\372\217\275\007D\034\276\240\332\242\273\322\317@>x\376\335\275\213\260\203\275i1\220\276\216J$\275\247\262\202\275\360d\251>h*\202>Ra\206\275\232\343\350=\225\214\313=\243<\035\275/\235\007\276\366\240\342=X\365\011\276\352\0212=\364{A\276X8l>Q\254\014>\134V\267=\006\000\216=\003F\206=hl\330=\277u,\274 v\006\276\213^\212=\322\300\343=_\341\033=\241\033\270=MV\274>\215\373\246<$\203p\276\015\270^>\244\255\177=7\202\361;\037\253h>q`\342<\210\212c>\031J\247\275E 2>0\010\017=W\211\031=9!\377=\351\375\222\276\233\274\355;U\226\372=\002\003\212\274`\020\007\276\362\301\360;j\322\033<\264RO>%\255\207\275^\335,>U\242\352<t$\246>\250\356\272\275\265~\334=I\233\350\275\004\027\302\275&\332\346=\233\215\035>\332c\325=\316^h\276jJ\030\276lh\015=@\241\343\275\002\337\037>B\026\016\275\274=\316<\321\013\203\275\307e\002>\010\004\316\275\276\356\321=}\223\274=\322~\022>\2071\343\274P\207\034\274 $\335<n\356Q\275t\326N=\342\007B=\037\227q>\305\311(\276rF\134\276\314F\255=6%\030>\272\2312<\347\204\042>\257\360\352\275\327jm\275\325\352\220\276\331\230\247<\202\330\315=n\315\351\275\205\270\261=(I\017\276\2042\200\276\030\014\214\276\335\231\240\275\326d\035\275\010\000\031>\237f\026\276\367\221\271=,\351\042>\211\2357=\004\245d\275\027M\003\276\0104\004>\020%K\273V7I>\202\314\031=\326\275\265\2759\204\032<g\303\266\275\257\222\340\274\210q{<\354\013\242=\011\325\210\275r\205b;\261\335\020\275t\335\213=\261m<>\077\327\362=\320\333*>6\272\316>\024\042\203<V\215\222>N\230\006>\034\017\042\276\240k<\274\032\246O\276\0159\320\274\317\235]\276V\271\274=\236\234\336\275)'\215>\316\237\134\275h\340\221\272\345o\375\275\340\221\225\275{\322Y\272w8\360=X0\225>\3070]>L\205G>\267\012\334\274\005\241\211\275\015\346\232\275\242\340F\276\340\262E=p\347\007=\302E\257=o\226\310\274\016\271\304=\306\257S>\0371\305<\360\021R=\342\042\004\276\032\263\325\275\336>\314<\007F\326<\013\262\236\275\242u\266\275|\013\346\270\340gy>eJ\330\273\2308\010\275\350\324\364=*-\314\275\247\237\030>R'\020>'\255\247=k\373\011>\015/\034\274\362~9\275\316\217\216\276>\264>\276\322\016\330=\363\322'\275\007\264\224>\3714\226=f=/>\077\322\351=\2274\217=\375\370\222\275U\327T;\201+.=\3637\177>\327E\134>s}\211=\230\224\327=\243\321m>\353\372\300=\037\002\002\274Q\246\024\275n\377\202\275\346\237\225\275y\252\270\273\250\006\240=xQ\210\276\246\306B\275'B\352=\375C\246\274\305\267\023\276N\313[\275\342bM>\266He\276!\300\023\275RZ\372<\006\237:\276\356\215\372=x\307\251\276d\037\276\273\263\035\221>S\250<\275R\202\241=;F\014>\307o\327=7[|>O\274\030=\205\341\213;m6\277\275:\025\245=\274\373~=\026\335\365=3\037\313=\034\214\336;\267\351\024\2754\324\000>\022\240K>\373\377\034=\324\230\234>\252\033\275\271\025!\223\275\362\215\354<\312b^\276>,&>\243g/\274O\230[\275\000LE\276.\207$\276\004\035\206\275\017J\343=\010\201o\276\0346'>{P:=8L\036\276\351W{\275\340\271\006\274\210\204\223\275\255+\313\276L\306\364\275\253h\341\275\227v\276:\275\001\031\274\255\277\372=\364/\344\275Hx\223\274\226\367N>\007U\226\275d\0014\275\032\016u<\236\217\375\275X\277\007\276 G\2617\256\347j\276\377\233\035\276M{\006>\347\247S=G\2226\273\215(\023\276'\253\230=\322\367\210\276\335\327X=\351I\003\276fK\254=Q\361\030=\377\2571\276\035\337\367=\350\365{\275\240VZ>j\243@>)\233F;&~\340\273U\255\222\275\314\366\001\276\315\355\221=\2658\275\275\030\230\271=\024\356\301=e\344.=\344\314\014>\334\267\177>\313\306X=\013\014h>\344\362_\275G\355\352\274j\370\331=/+N\276\134\341\026>Z\003\021\276&\236\263=\307\307\360;\010\356=\273>\177\321=\2355\203=s\033\214=v\374\213\2740\342\343\275\220a(>\025\204\351\276\0176\377=r\347\225\273\270\201p\276\257\0029=^\200\012\276\260o\211\274\345\240a\276}r\010\275&\371\216\275\355\311t;\241M\232=\327\017\014\276iy9=\207y4\276Y\325\001\276O3\253\276\200@\277\275\264\331\016\276\363\010;\276j\273`\275b\360\216>\252\245\213\276\257\032\336\275\334s\220\276\022!+>3 A>\030\346\273:\016fO>\255-\354=\260\241\352\275\357\367\021>\321H\000>\320J\017>p\307\256<\332l\333\275\243\022\262>]\377\335=\217\355\322<\272\274\363\275\077\271\027>W-G;\314\332\214\275\304\2768>(x\042=9\344\030\276#m5\275\247@\027\276Fu\025\275\026\347\220=\352y\343\2753/\333\275vU\030=\267\274\376=\277p9\275\3646\007>;\233\321=\305Z\374\275\026\211\216>\314\371\031=1\354\366\274\024\200C>\031b;>/\014s\275\000\2731\276",
"\301)\015\276\003l\036\275(\254c\276O\037\345\2756\016\031>\224Nv\276K\205 \275\345\351i=\240g\222\274\243\343\244\276\225U0\276\010NM<\276\3234>\320H \276\000\261\353\275\265\222\012=8\304\034>dpB\276(=\023=\275\255\230\275g\311\360=\200\266\222<\030k5=\274i\236>\361\270\017\274g\012\361\275B\364\322\275\276\343a>3,\233<V\003\224\275\354AR\274i!\345\274\223\274\037>@\273\252<7L\270=\2261\036=\374\376I<\230s\203\275\237\3140\275\246=n>\002\216\000\274\370\265(=m\223\232=\373\365=\276K\203u\2750>\272\275\353\202p\276[\314\217;t\350\033\275F\231\213=\245N\221=\333\203\260\275C\376z>\367C\222=(\3162>\361\243[>h_\225\275\241\275\021\275\215\272\261<\320\242\015=]\211#>>\212U\276\214\242K>wbB\275\033&1=V\320X\276\262\271\004\276\345\242\222<z\240\230\276\025\177\241=\367e\007\275\273\077\033=l\252\237<k D\276%\232W>\240\204\217>\264\371\304=\3734\305\275\214\027$>\213\326\272=Bwh>\367=\031\274z\273\250>\310Ni>5\345\374<\037\213\011\275r\220\336\275\177C-=\007{\273<\352[\027=\267 \300\273\366\222}\274E\224}<\343\222\216\275)\212\252\275\005\241<\276\237\363\204=Z\233=><R\237=\373\313\202\275\035\037\254\273\344c{=\321 \257>2s\011<]a\226\274\266HC\276\344Q,<\3735\014>uYv<\357\305\346=\261\003\031\276\355\030\012\275\312\306\233\275O\246w\275\362\334W\276P6 \276y@e\276$\342\371=\202k\240\275\177\360%\276~I\302\275_e\335=<\217\254\274\273$\273=@\204\242>\342#\253=<Gl\275\312~\220>Sz\213>&D]\2768\372\010>\077\254\236>\305\021\327=\035\315,>\377\364h>d\255\032>\234!I\274;\330+\276\266 B><3\000\276\336t\240<#\376\344\275\350\334\302;\027@\200\275$\036\343\275\233\277\202\276H\226%\276\005\241o\275k\211\077\276h\264\303=\214\341#>\227\030m>\262 \251>\276\000\250=\276\372\241<%\345\342=E\3628>f\342\235=\014\235\006>\223U \275\374|\240=\220v0\276S\371\200\275l\362x>;\217\245=\276q\267=O\015F=@{2>\361\352>\276\263\312\252=\340\242\321=\214\311^=\322\220g>\011\252d\275\030ko\276tU\001=\271v\025>\376\351\214\276\276\352\134\276.\235\266\274\345\327\245\276*\311\202=K/\263=y\271\211\275\177\231\202>\345\257\332<$\006\025>\3333\262\275B\267\204\276E\315m=\371WG>\006\373\332<\355\335\255\273\224\227\305\276\007\227\237>\262\274\223=\223:\274\276\304\004\216=\204l\236\274\221\231\341<r9\274>\300!\342\275\344+[<\226H\373\273\311\202R\275E\251\237<\227R^>\363V\336\274\215\332\210\274O[\007>N7\255\275L\356%>XD>\274Ej{=K\206\230>I<\242<8\371,>\372J>>\263i\211\275\223o\024\276\213)\267>\270\304\203>\253=^>\256eE>X\363\312\2746\000\274\275\303*\244=\300\311\220\276Ik\372\275!\232_>\366\325\331\276\216\200a\276Fn#\275[,\373\274\020\332\346\275M\242a\275\211=\270=\036\273\224\276\005B\042>\205X\230\276\341\272\246\274\320LT=\250\215\225>t\277\344\275\205\016\312;\251\313\252\275\260\261\203=j\345f=e4H\274\273\134\207=\243g*=L\002s\276\246\366\360\275\042.\271=7\326\036\276\341  \276v\3253>\312>\351;\324\265\363\275C0\335==\034\351\274`\021V\276!\006\341=\274\243\212\276\366G\277\275\2030\357=\034\265\213\275*N\236\274\372x\270\274\337\000\337\275\353\241\276\271\366\325H\274\225\017\236=\202\2720=\361\001\227\275fCy\274\276\306|=\236\324\271=\201w\303;\005\261\362=\301^\357=\252i\236<\042\220\353\274\360}S>\042\215j>\215\0107\276\302\334\310\276\220z\272<\320\211\212=\336\275\310=\000J]\276\264\254\017>\213J\077>\004N#=\275\262\327=\022q\223=\024).\276\006\312b>\377Z\204\276\370^\312\275kz\333=\221\350\365\275!\261\240=\370\251T=\134d\202\274\364\321\336\271u\327K>&A\217\276\301:]:\302\004J>pEY\276B\350\243>}w\020>\016\356\025\275\252\211\023\274\012\352\224>\305\077\301<u\231\262\275\237\241\034>\036\212D>\347\242\027>\271\253G\276\363(0\276(I\210\275d\345\367\275\021\301\210\276Q\015\031\275>\013N>\134\232\177\275\301t'=\234\226\226=\0004\250; o\032\272\001\235F\276\314\0239\276\360\222q>e\134%>\332\260\002\2762}5>*\332\373\275\0211\325<\366\275\030\276\353\342\230\275\316nk>w\365\210>=\370\222\274\256\236\026\275k`n>U~\247>*|)=\022!\226=\217:\264<\254\371\312<\134*z\274\200\342\345\275`\223y=Y\236\341=\232ag>Qr\260>\256\343\042\276\032\317 <^\340\004>\321K\223\275\357D\021\276\271o\213\276[*\320=\326\211\211>0+\177\274oV\205=!\264)=\262\322\024\276\311\200\350;0\301\332=\320\371Y=n\010\213=u\303\214=#\274)>\370`\313\275_\346\217<\206\017\205<\272\264\205\275\002\031\247=\270\203\015=(\211W=\346FO\276\376\242\027;\030\241)\275>\215\236>\273CC>\001\004I\276j~\203=\330\347\372=oqT=H\313c>\245\3401>o\373D=\021!\245=\261\226\002>\026\376\035>><\235=* 5=\205}\272\274\356\330\245=t\317A=D\313\371<\207]\225=Q\234\337=\017\224\307=\325\323\361\275.\240\210\276k\355\261\275\220\357\222>\3664\337=0\134\023\276x\356\333=\017\321I\276\003\042\364\275\315lK\276x'T\27636\204;\3570\031\276A\030+=\017\275H>t\222#\276\322\332I=;\310\3309\256kF\276\330\0019\276\377\021\305=\213{\033;\177d\262\276\245\334f\275\002e\267\275\316\337\202\275\1776\303\274$C\021\276T\026*\276\251\370\025\276\374dk\276^K\357\275\3122\301\275\267A\362<=T\327=]\350\317='\365*\276s<\244\275:w\360=\034S\011>\256\272\364\275\344\301\002\276\345\032\252=TF\215>\223<G\276\303z\237\275)\225Z>\263\236\000==2\012>\200&\345\275\305s\177>\177\300\364\274\177#^=\334~k<!\366\324\273\301+K=\337i6;\000\316\202=0\206\267\276\3219\037\2760\244\223\275 \365\023\276\004(\177>]6\314=uJ\265\273\201W\224\276O\257\265>\227ML>~\344\270>z\235~\276\352oh>\241>\217=\212Sa\276\021\307l\275\377\373\324<HT\227=V,\367\275W6\215;\376\277\241\275 \213\231=\274x\253\275\376-\225;s}1\275\374\353\015>\265\206\244\273Q$\367\275 \210\015\276\370\353w=\355\275\016\077UL~\275\033\315\010\276\313\177S>",
"\212[\343=<\014\017>`\276\002>`\300C\275\346\177\372=.\355Q=\036Se=\301p\005\275\312\0248>\211\343V\276d\015Z\276i\207$\276\315\245\342\275\210\320\256>\253[\001\275\344\264M<%\2613\275\214\342\327>\272\201u\276o\376\362=5a\020\276\036\374\254\2769$\351\275\042~\362=\365\037d=\365\361&\276u\237\274=U\350\247=\361\330x\273\255\357\023>\0276R\276\205\344\252=\351\020@>c\134t;\012M5>y\321\006\275\343\255\247<QS\017\275\010$\332=\000\266\247=\321\256\024\275\227l\004\276\232\373<>\264)\010\276!\270k\275\314%m\274m\034\042>pY\334<yOB\274\007\243\025\276\257\005k>n\321u\274\2276\036\276\373\326\226\276\001\014\300\275\274\214\204=\226\235\307=\036Yf\275:\234$\276\032\3377=\225\001\357\275|\344N\276\344=\330\275VU\330=\3435\305\275HTN\275\211\250U>v*8\276\350f\224\274\256;[\276=Q\253=\203.\026=+Q2>Oj*\276\3627\260\276k\310\037\276]\326\010\276Y}8\276\345\264\242\275X\007j\275hP\210=\371\361h\275\316\221,>\225\000>=\253\245>=\012\2526>\365a\317<6\226\263=\031\134\311\274P/\020\276\042\356\006\276\320k4=\310\077I=\361^'>\330@\006=U\306\332=\015/\201\276u\357\347;\261\213\232>\263\316\250<\235\336\010\276k\244\222\275\001\365\221>\021\322\015>\247;\275<h\324\257\274\005\352\203\276.\305\213=_R]>r:\212\276\260\315>>\354-\305=$\215_>\311[\034=\310a\303;j\034\221>\230\353\244<4&{\273\235D\231\275\021\345\252\275\261\336\327\274c\037\363\274\042\260\026=O\203+=\350_\310\276\311\2270\276\031\352p<\202\032\025=K\354\241\276\257\326\005\273\002\042w\275\014%\026<m\211m>\222\331\306<s\236\237\275`\335\203\275fm4\275\333F\347\274=\241\221=\034\271&\276\200YI>\366\251\343;\252\302\032\276\010v\224=Q\240\214\275\201\345\002=Z\011\202>\213\373\016=\227mo<\377\011\310\275$\010L\276_T\024>t{\343=\006\345\216;\206\012\004\276\226\042]=b\207\234\275<\230\232\275\013br=\027,{\276P\031\275;\2065^>Y\375S=\037\220\374\274\345\210\021=\316N\242=/4:=\0055\032=|\224\236\275\0101@>5\2624\274\310\335\225>L\355_\276'\020\000=>^!<\301cf>\327\262F\275R\216\351\276\240\376Q\274\252\202\275\276\023\277\357;\312\271Z=\331\032\036>\230\276g=h$u=R\2277>%e\247\273\036\200\362;\363\346\134>\010L\322=\364*\300=)\262\003>\330\253\321=\343\327,>BB\037>h\331}>\0173\017<\326Ik\275\321\247\264<\377)\341\275\007\242\042\272!\032\343\275\252\245u\276l\345\317\275\016r\004>K\334n\276\006Mb>\207\317\375=\215\354'\276\203\346S\276\213]b\273\205\377_>\364\307\020\276_V\001>\375Z\247\275n=\177=E,,\272\025\244e\274\224\034->\356\234\246\275\374\001\021\276\257\367\233=,6\235\275N1\363=8\3409>\313\241V=|\327E<\212wz\276\242C\341\275\271{\034\276\211q]\276\000D\333\274d\204\343\275\217\266\313\275\265\325L\275\235Pn\276\024v\325=\346^3\275\010K\226\276O\317;\276\033G\213=\372g\000\276\370\317p;$F\256>Nu\027\276\353\350\226>\257q\323=:p]\275\311\316B\2769hB=\200O\323=\342\2474\276\010\233\375\275\246\241#\276\312`\354=\012\013\300<,K\000>\027r\207;\301\271\221=\350\336\223\276\356\243\216=;Yh>\333\310\251\274\000\325\225=\255\224\370\275\240\211\254\275\000\011+\275\177\357M\276O\242\210;{\230\134>\015\346F\275\272\371m<\237rX>O\253L=\305\350.=I\005\243\275\276_\341=\302\3009>\255*\200>\322>C>b\360*\276\312A1>\036\026\251>\364\203\331=\004\212w<L\335\027\276\263d6>\275\134,\276C\325\252\275>,\013\276gz{\275yrJ\275\205\307\077\274A\005\236\275M\263)\275c\2503>\214\211,\276\221\217\012>Z\016\335=\255\270\210>\225\312X>A\023\305\275\352\003\200\276d\331~>\255x\331\275x\335\255\275\016C\275\274{\347\205\274&\035\027>\271OV>G\334\233\275To(\276W2\341=\300\345\250\275\304+\027\276E\325@\276\307\264k\276C\323\244=\307q\335\274\025F\356=h:[\276(=\315=\336\266^\276\017S|\276^PN\275\231}\034\276\017\246\205\275\030\027\351=\330\031d>\337\372\317<\031wC\276\312\316\277\275o\223\342\273\323E\327\274\015$\240>\036EC>\355\365`\275Mc\210>\321fn\276\355\000q\276\036\300[>E\270\035\276\314\361\304\275eW\361=\343\201\310=\226 \252>\033I\232\273\340\245\212=\264\015b>N\201\274\274IK\037>\200\230\232\274\225B\317=V\332\223\2762\203\224\275=\301\212<$o\301=\265\262\340=L3\010\276N\370\226\273\211\216\301<\336\251h\274<\215\013\275\303\300\306\275\217\302\314:\250\274(\276\213\077\220>v~\005\276\011! \275\306\231\215>\201\303\256=\244\031^=\366\360r>\275\330_\275FT\213=\265\0169>D6|>%5\274\275*\220M\275|\212\235\275~\251\357=\211\202)\273)>\336<a\220\010\275\001~A>\0355\001>\300\245\035>\210\256\032\276\304T\012>\022\317\300<&\236\364\273\366\371'>^\336\256\275M\225\036>0\014\276\275c\323\010\276%Q->4F\036>c\004\335=\207\302I\274`\004\341\275\247Q\364\2752:\245\275\363G\323\275\134C\374\274\334\345O>\234;\373\274<^\204>\201}@\272\226X\031\276\027\033\273\275\374>@\275f\342\342\274\225}\225=\373\327\014\276\340\273R>\323\035\235=\271\030g<\210\002p>\207\356F\275\211\3647\274\340\331'>\377\203\305=wq[\274\006-I>\326\307\257<\221\376\211=-\347.\275\254\011\261<\262\215\364\275h;\305\275\240:d\275\250It\276|#\316=\042\224\213\275\260\265\002=\323\334\215<\134]\227=LYc\275\024\027\077<r\376\017=\340\310Y\276\323\077\025\276\221\026\001\275\3571\177=\042c\243\275\010Q\350=\327\377\214>\253h\012>\2363J>B\015H=\207\263v>\323-\300>\343\217=>[\3065>\353\247\027>\352\255_\276+)5\276\000\307T\274g*f\276\037\365\014\275n\030\316\275\272\326p>\241\304\310\274\270\012\205=\376\370\030>\334\233S>\247B\006\276E\336\015\276C\036\007>\024\334\210>\203a\276=`\324n<V\343\312\275\375\202\360=AS\224\2758\364P\275~\023A\275\260Vw>\000\340\321\275\005\211\216\275hz*\275\212\342\016\276\263\024\222\276\317E\347\275\005\206\342\275\314*\214\275\015\265\260\274#\030\226>\002\337\255=\373\205\203>6&\340=\223\372x=\027\352\020>\010s\003\276F\265}\276dg\303=\357f\010\276\332K\000>\202\032\252\274",
"\333\031\222=\233\2010\275\311\035\347\273\313~d=lK_=~\017<\276\311W\232\276F\206!\276\226\010`\275\220\205\002\277Y&\215>\005\035`>p\300^=\221\266\244=2\373i\276\327\253\300\276\012\317\340\274\005\357\232>+_\014>\330V\271=\310\225\002>W\032%>e\267\015=ZNO\276\320 \321\275\010\252\017>\370oZ=\250\3141\276\313;\337=\007\233\013>\272\223a>\234c\215=:mL\274\233\361\032<A>\374\275H7\214\274]\362\367\272\265\317\337\275\271\346Q\275\335\241\244=\257)\011=\357I\005=\177\322[>\374O\035>;\345\025=_\027,>\340\375t\275&\222(>K\247\242=\021I==SO\321=c\336\134\276le\300\275Y\223>\275\0248B\275u\034\007>Z\310&\276h\275P>]\355\326=\364\301\231=\261\313\226\276/k\344=\037\264\351\275h\012\221=\361\036\220<\305\333p\275\202\247\014\276\3666\277\274\270\270\252=\271\274p\276\305&>\275\355\251\256\275\370\244 \275\227\266\014\275O\261\006<S\303_=\331'd\276<\205\307=\326\024\226\275\202\026\223>\261~->\003\034.\276\030\371&>\337\345@>\323\304(>X\302\017>\201WU\2755~K>\223b=\276\031m\236\276&q\325=\347]t\276\302\257,=E\235\256\275\337K0\276\331\217\035>\316\377-\275v\232\323\272\3266+\276\215<\013;\302\233\033\276\016}\024\276~v\032>\232CT=\243i\204=\327\343G>\024\346#=5\203\006\275w\363\212>L\250\262\275\316\011\223>\265\242F\275A\233:=\344<\214>\226\261\012>\032\210&\275k\037\220=\315\251\134>d\224\211=\216C\006>\366\016\332=!\016\042=\364\001[\276\334W\222\275\274\243\332=5\254\030\276\012\317\330=*\373\252<o\2576>T\325\372=\255`\316\274\316\233\253\276Sa\011\276^\021\205\275\360<J>\357\272\314\275%\330D\275\274\243%>n\320\366\276|R3>\252\350\324\275\371(l\276\005c\014>\023\354%=\377\177\307>\203Q\212\276Y\024\016\276\272\234\233\275~[\360\275exv=\327\266\332==H\015>\373E\366\275R\2462\275\375\3334>V\033\327<qj\371<\232\274\025\2760\014V>\336\311t\275\204\206\007>xj9\275|*\245=\334F$\274\344A/>c\366\011>\267\265\373\275\322\037\252\276B\370\360=\322\326\214\275k\011%>\206D)\275\310\361\077=\227\340\016\276\042\302w\276\230B\216>$\222\342=\375p\210\274\204N\235=\042z\020>\026\371\032\274\226Cp\276\3400w>B\314B\275\000\300\315\275O#\232\275A\265\022\276,*\037\276\233\327T=\310\266\016\275\177\374\332\274\017\015)>\246R\025>\335\266,\276\245\225\346\274yA0\275\332\017E>U\023\262<\336\331T=\246.j>8\356\212;b\033}<\030\0250\276\261\354z\276\361\023\373\274\325`\005\274\245\326;\276\240\340\267\275\244\353\303=\351w\354\275/\265\205\275\232\036[\275^\025\020\276Tk\374=V\2424>\001#\340=D\007E>\337\344\201\276\365\366\330=9\210\227\274\246N\022>\22448=\316\325=>\016Dw>($V>\005D\235\274\336\030*\276\020\354\273\275l\304\206\275m\210\013\276\334'\022=\377\232\346=y&S\275\014\302\262=\362\350+=x\360\204\2755\203 \274s\335\021\276\243\331\272=#\313F=K\255\012\2765\231\232\2743.\346=6(\307\275\003\251\222=ML\375=\326\134\077=+\324\274=@\036F>I\3638\275\310\261\222\275\177\2722=T\240G\275\267E\332\274\037C\340\274\036e\366\275[b\215>\021\252H\274\327Y\226<[\333@>\010\377\025>\303\030O\276\237\247u\274w\332\325=0W\217<RMd\276\327\251q\275k\202#\275V\300\253=Z\207\013>\222/&=\243\322\252\274\360\3320\276J4\036=\2705y\276\354\304\341\274\001L\253<\361\244-\276\320\375h\275.\375}\275\373\000:=\205n\017\276:\221`>\227y\234=\221\324h\273\322\244\202\276\230\034 \276)L2\275y\3679\275\216D&>\212An\276\243z\257=zH\252=\266\204k=ui~\274\042#u\276\333!\327\275\373\317\023\276\274\247M\275\277\200\005<ku\027<;F\354=1X\217=r\027p\275\376\367V\275\331\347\221=\250\014\274\275\375l\022>\224\362k\275ku\352\275\015\316\315=\306\357\352=\077\214\340\275T{\216\276(\351\224=<\222\247=y\005\253=\373_\232<\342\177\020\275\007\346S\276u;7\275\0100\023>\301<{=\311\343\032\276\033\224C\276\3168u\276\222\304\206=\353]\320<\244\077\212\276\356\015\200\275\215\353\214>\324\202\203\276\024e\344<!\347\224=\361*Y>\373\007a<\336\2406\275P\324\015<\335z}>\033\0140\276\033\037F\276\301\205\012\276\025v\017>_\362M>-\321\337\275\263(\360=\337&\010<\370\233$>]`#\274\202\305$=\320\334s\274\246h\312;\303\222r=\346\307\326=\3566w>R4\216\275\231n\326=\254\220\220\275\3044\255==\014\276\275*\335\012>\347\220\003\276\257\245H>R\302(>\215V\010\275;,\340<\325\254'>\0200h>\251S\267>\371\375J\276\203\3744>@\350\314\275\134\021\270<\265\272b=\236\315\226\276c\260\177=%\211\256=\3173\301\275\316\266\271\276\301UF\2764_4>\246\223#>^\316e=[\351\331\275CB\327=C\205\016\276\030;`\276\216K}>\265S,;3D\016\272c,2\275 \224{>!\016\236<\034\3515;X\300\326\274\322A\305<wT\204\275\245\375\211\274\270Q\313\273\270\223\033>6H=>\363j}=7\005&>+x\331=\232w;>\337gP=\371\324\004>\370h\004>=\001Y=\311M\267\273n\313\336\274{\351\202\275\031-z=[D\261=\305\366\274=\316\002\020\275\356\306\006>v[\216<\366\222\260\275\224\245\025\275\246z==\231\217\303>`\013\210\276\020\007\026\276\014\026\001>aQ\317\275\224\022\221\274:j-=\301\034_>\360\077\037\276k\037#>c\373\206=I\361\275=}\302\010>)L*<&\031\010\2754\0151\276\216Z-\275\255e\362=/\260K\276\033\231\261\276\331/\303\276\316\273\301\275\013\023\263\276\312\257@\276\234@n>\236\366\032\275\351v\011>S=!\274/\273\024\276;\251E\276Xz}\275\255\353\233=\077$K>\332\2608<&E1\276\300\230\274\275\336m\357\274\301'\012\276]eJ\276\263\335\240>z\262f>\301\302D\276<Vu\275w\250\303<\030\200\027=\375\224\243\275S\275$=\266\205\007=\320\234i<\343!\032>U\321r\275\365\241b\274\240d\004\276a\333\204<\347\353\015\276/\333\352<_\216X\274\353,p\276\274Jp\274P\344\310;\356\372\235>\014\222#>l.>\276\267\337\001\275U\134\237=\332\0018\275;#g\274\342\306\333\275q\3144=\225E\217\274\264\002\317\275\033\341a=\354\273\017>go;=\034\335\354\275\222\207\203<\337\266\231=\272\322\022>v^\370=",
},
"\231\007\300=zJ\026\273\374a_=\275\202\213=\220~\013=\315m\377\2738\366\335\275B\227\216=\352\310\267\275\323(\001;PFZ>\020\350\310=\363\247N\275\213p9\276\225]\214\276y\207\013\276\304#\002=\027}\230\273B\320h\276C\330\365\274\353\320\233={4\376\275\277\202\203\275\011\231\212\274\214\026V>\312[\317<\207\0028>\003\376I\276\373oL>`\026\254\275<A\243=\020\246\204>\302n\134=E\252\234=\220Kf>\353:\306\275U\234 >\251\325\247=\320L\034>\246\033\266\275\375\201\210<\316\203\241=\272\270\007=\270U\334<\263\315\356\275\370v\356=Z#\231:\361\311\335\273\351+\035\275\352\343\000\275\247\020\010\276l\224B>\360\200\353\275xX\362\275\2376\330;\2633\032\276\331W1\276\314\031}=\307\3205<\222\365\352<l\202\265=\042\340\320\275\277S\264\275JN\224<\267I\205\276\252\247)\276F\345B\275\207b\330=\243\271->z\242\200=b\366\262>\014A\272\274\372\377z\273#1\177<\200\243\204\276\307\247\021\275b\201\026>[T}\275\340\274\003>L\005\201=\372NA>\220w\220=\021f\030=\324~$>\313\376|\2753Rq>\034\325\303<\220\032\224\275G\373(=\265\252-\276\350;\213>\220\262\214>iN\035>\321\254\260\275m\231O=\212\317\304=\322\241)\275\224\210\003\275{f\245=\257K\254\275\000\216a\274\017X\331=\262\310B\276I\254`\275b\377Q<\367\032\016>QF\224=B\346\277="
} }
#endif
;
static const float conv2_b[32] = { 0.02782897f, 0.047809724f, 0.00012345654f, -0.0028796939f,
        -0.01730341f, -0.003259355f, 0.008289711f, -0.018701063f, 0.023456477f, 0.05647535f,
        -0.017882556f, 0.03772404f, 0.017101187f, -0.016437093f, 0.11408211f, 0.057245556f,
        0.049667705f, 0.024746763f, 0.02230488f, 0.037887927f, 0.009549399f, 0.05814934f,
        0.053562384f, -0.027311882f, 0.041488126f, -5.1683048e-05f, 0.01330588f, 0.040930875f,
        0.026139751f, -0.014067083f, -8.723889e-06f, 0.009755129f };

static const union {
        struct { unsigned char rows[10][2000], tail[480]; } bytes;
        uint32_t bits[5120];
        float values[5120];
} dense_w =
#ifdef BIG_ENDIAN_MACHINE
{ .bits = {
0x3cfddd48u,0xbc1b2251u,0x3d8572feu,0x3c199e83u,0x3d4686bdu,0x3d56abacu,0x3daca497u,0x3d012c1cu,
0xbdd9aeccu,0x3c952bc0u,0x3c0964bcu,0x3c13332eu,0xbbb10f32u,0xbd5c6b3du,0xbcdf9be4u,0x3c9925b0u,
0x3d0e7d58u,0x3ced72cau,0x3d85f48cu,0x3c84996du,0x3ceb9cf4u,0x3d9d4f06u,0xbd338f6au,0x3cb0a546u,
0x3c65219fu,0x3da3f672u,0x3d7b0915u,0x3e07fbd7u,0xbba68f83u,0x3d6171f6u,0x3d083407u,0xbe2aa5b0u,
0x3c4531d7u,0xbe2d77b5u,0x3e1f4bb9u,0x3d480405u,0xbdae2b04u,0x3cbe68c9u,0xbd91f23du,0x3d61e746u,
0xbdbcd990u,0xbcb6d09du,0xbda4d15du,0xbdce1d86u,0x3d8fef06u,0xbd9b9702u,0xbbf7563eu,0xbde43981u,
0xbd34eacdu,0xbd8f383fu,0xbd818c79u,0xbd584802u,0x3e276618u,0x3c0f82ecu,0x3c674733u,0xbd580196u,
0x3d93fec1u,0xbdf638cdu,0x3bc5fedeu,0xbd9b3cb7u,0xbc8c6c4eu,0xbc3708c9u,0xbd8b6461u,0xbd0a0ad0u,
0x3d009dd2u,0x3dab9d89u,0x3c677e57u,0x3b8efa21u,0x3d6d63a2u,0xbd6c1d0fu,0x3d10f71au,0xbe036788u,
0xbd43ed62u,0x3dca20d8u,0xbe06a134u,0x3daa50c0u,0x3d4f40e6u,0xb9c78777u,0x3df308c8u,0xbd41bff4u,
0xbd90ccf6u,0xbd11a1b4u,0xbb66f8b0u,0xbd3e3982u,0x3d7a28ddu,0xbdeaf182u,0x3e1168aeu,0xbdd5c04bu,
0x3dc309ebu,0xbe6060f9u,0xbcdfec33u,0x3d9b06cau,0x3dacaab1u,0x3c066d31u,0x3cac8b62u,0xbcfa60b3u,
0x3c8e11cau,0x3db3c748u,0xbd6be74eu,0xbd8b7b4du,0x3c9be0c6u,0x3d875c40u,0x3d9fe0b4u,0x3e1951eau,
0xbda5f98bu,0x3d1eb3d8u,0x3bd96e58u,0xbba3fc09u,0x3d796b52u,0xbc3899e4u,0xbc08f58bu,0x3de438afu,
0x3d58c0e9u,0xbd118571u,0xbe7486cfu,0xbdd64702u,0xbe2a060eu,0xbc965f7bu,0x3a8a3e79u,0x3d70fd5eu,
0xbcf4c120u,0x3d241197u,0x3c808c14u,0x3dbe3221u,0xbcc45d01u,0x3e07f838u,0xbdc3acebu,0x3d1597abu,
0xbd8c0b18u,0x3ca9bbe0u,0x3d921df0u,0x3cfe957bu,0xbdbab216u,0x3c42a2f1u,0xbd8a61fau,0xbd8b09ddu,
0x3d959edeu,0xbdef97c4u,0xbcc855fau,0x3d4737f7u,0xbd7e5be8u,0x3dc42771u,0x3e096e58u,0xbe23f4b2u,
0x3d0d194au,0xbdcfcc3eu,0xbd8c7817u,0x3d2acf9cu,0x3d28d88au,0xbd49a93fu,0xbbb87f56u,0xbd9823a1u,
0xbe24bb05u,0x3da16fb0u,0xbc6f738du,0x3d2d1f6fu,0x3dc40c84u,0x3de7fb99u,0xbd55a457u,0xbd17f5bdu,
0xbd10b29fu,0x3d3c2163u,0xbba048f3u,0x3c10526au,0xbc44559du,0x3d81548au,0x3d072050u,0xbd65332cu,
0x3c08e7efu,0xbd29186du,0xbd567808u,0xbba36164u,0x3cf2f767u,0xbd504b8cu,0x3d3625e4u,0x3c98db8cu,
0x390f154eu,0xbd006943u,0xbe180a18u,0x3dc98dd6u,0x3d62f067u,0x3d8b869du,0xbe166b4du,0xbcbff9ebu,
0x3e1e95a9u,0xbda18105u,0x3b046743u,0xbd200414u,0xbd4e1110u,0xbcf2a05fu,0x3d2031ceu,0xbd23327au,
0x3d05f9edu,0xbe0d6952u,0xbc24c4b3u,0xbd6aabc5u,0xbc02b390u,0x3b7edb50u,0x3ba91564u,0x3d74858bu,
0x3d23a73eu,0xbd062e61u,0x3d1c8003u,0xbc5d4558u,0x3d2f04cbu,0x3cf4299cu,0xbd3e0fdbu,0xbd63fa41u,
0xbd8dea2cu,0xbd389217u,0xbd05ef61u,0xbd5cfcefu,0xbdeaa418u,0x3da3b281u,0x3d2da765u,0x3cda2287u,
0x3cd73680u,0x3bed6f59u,0x3d4cd13du,0x3d73678fu,0x3db9efeeu,0xbdb776e6u,0x3aba44aeu,0x3dad2099u,
0x3db0410bu,0xbe5b4f1bu,0xbdca0ea1u,0xbd30427du,0x3e4f7c0cu,0x3dc61c8cu,0xbdc1ccedu,0xbe101c8eu,
0xbdb56d1eu,0x3da570c3u,0x3d81cf7fu,0xbdab9f0cu,0x3e397fcau,0xbd058f62u,0xbd6cb022u,0xbddce001u,
0x3d22cfceu,0xbd2d01b4u,0xbd794c00u,0x3dbed7a5u,0xbd06fc55u,0xbd0268bdu,0x3c80508bu,0x3d74b067u,
0x3d3fcd72u,0xbcb60d29u,0x3da65c64u,0xbcaa7fc6u,0x3a03a8e0u,0xbc837e98u,0x3c81ab2du,0xbdae8367u,
0x3d96a71bu,0xbcf1dc43u,0x3d628f98u,0xbe094f85u,0x3c003ab2u,0xbdcd2b2cu,0x3dfb18e8u,0x3c93a04cu,
0xbc70b911u,0x3d5a27b1u,0xbd6780abu,0xbd321fd1u,0xbd5f7b8du,0xbda7b264u,0x3db457bbu,0xbd9b84e4u,
0x3e6ba14eu,0xbc64bf6cu,0xbb3d24ecu,0x3e1fed54u,0x3c2170c1u,0xbdcb4bebu,0xbdcce7d0u,0x3ddf7c2cu,
0xbb58818cu,0xbd5ba9b5u,0xbcb0de4cu,0x3b8f797eu,0xbc250120u,0x3ce922a3u,0xbb3f1729u,0xbd9d4131u,
0xbbe867bdu,0xbd6ba8deu,0x3d57360fu,0xbdfb7fceu,0x3d1305f5u,0x3d8268a1u,0x3d0e3a4cu,0xbb11ac29u,
0x3da4a4b9u,0x3db9f51bu,0xbe154b7cu,0x3c62ffeeu,0xbcafbf9bu,0xbd0a4273u,0xbdcb3924u,0xbb9f5fb7u,
0xbe133230u,0xbc75e567u,0x3d033f33u,0xbe8c366bu,0x3e3b6fedu,0x3d09ea0cu,0xbd2df294u,0xbc5944adu,
0xbd5c75dbu,0x3d6c3bc6u,0xbe102f32u,0x3ca857d0u,0x3dce4fffu,0xbe107f74u,0x3d28c376u,0xbc0d7f05u,
0xbd586919u,0xbe5054dfu,0x3d2bcab4u,0x3d1fa9d0u,0x3c046944u,0xbca9ec26u,0xbd86b755u,0x3d9cdaccu,
0xbde97494u,0x3d194248u,0x3da31570u,0xbdbb2d93u,0x3d557f13u,0x3da2d978u,0xbcd6d092u,0xbd4d99eeu,
0xbca69b54u,0x3d1c05d3u,0xbd141153u,0xbe20fd21u,0xbbed7c70u,0x3bce2afcu,0xbd31ded5u,0xbce61572u,
0xbdbfb387u,0x3e6e3483u,0x3d37596du,0x3dcfff0fu,0xbd96af6bu,0xbe2e004eu,0x3e14ca32u,0xbe6fc04eu,
0xbe281940u,0x3d189f60u,0xbdd8582eu,0x3e412bb5u,0x3e34f480u,0xbe0b302cu,0x3ddd4ddfu,0xbdd93599u,
0xbdc8e43fu,0xbd9ddd86u,0x3cf0763cu,0x3bf66f0cu,0xbc53524eu,0x3ddfc9e2u,0xbd2a2ee3u,0xbccd2dc1u,
0x3e0240f8u,0xbcf90a06u,0x3c4c4b41u,0x3d0bb7afu,0xbc3001bdu,0xbdb6eaf6u,0x3d86af6eu,0xbdc941edu,
0xbded64c0u,0x3dba5203u,0xbd4fd5f5u,0xbd6bcd34u,0xbd49ff2fu,0xbde3f072u,0xbe0a1196u,0xbdd2cde4u,
0x3d8947d2u,0xbdcc215bu,0xbb81c0f4u,0x3d11c45bu,0x3dff4ed7u,0x3d8a25a5u,0xbd9bee8cu,0x3cb68841u,
0x3d57172fu,0x3ccfe1c3u,0x3d4277f2u,0xbcbdcee2u,0xbdde5b76u,0xbcd693cbu,0x3e062fc5u,0xbe510d00u,
0xbddf2aaau,0xbe2b6578u,0xbdb14e8bu,0x3cc2f5e7u,0xbcb8d8cfu,0x3c5820e3u,0xbdf6b950u,0xbdb0d896u,
0xbd91f603u,0x3dbb1655u,0xbd657450u,0x3d14ea1eu,0xbd03e336u,0x3e0d624au,0xbd3d9e4eu,0xbd364453u,
0x3ccdc611u,0x3e0c5e40u,0x3b99e967u,0xbd127f3au,0x3bc08b52u,0x3b499440u,0xbe326e0cu,0x3de40d48u,
0x3e087307u,0xbc2ce00fu,0x3d715da9u,0x3dc17991u,0xbdd2da2bu,0x3deef3e4u,0xbae2a456u,0xbe3e0213u,
0x3e36b487u,0xbdfa7280u,0x3dfcfb0cu,0xbdf9435du,0xbd2e4eb3u,0x3d58899bu,0x3d8ee2aau,0x3cee262bu,
0xbd61df92u,0x3b6fdcacu,0x3d4113e0u,0x3cb654f5u,0x3ba6fcd2u,0x3cc0d3f0u,0x3d2f5b77u,0xbd5f22c1u,
0xbcd67e0eu,0xba4b08e2u,0x3dbd9b98u,0x3dc79209u,0xbd91ba20u,0xbd384728u,0x3d3c23d6u,0xbab9e129u,
0xbd64863eu,0xbb824c1eu,0x3b7ce817u,0x3d72dd2cu,0xbc4c9311u,0x3812339bu,0x3daa0973u,0x3d2eebe5u,
0xbd847c48u,0x3d45631fu,0xbd034305u,0xbd955a8du,0xbd0ef637u,0xbce32635u,0xbd897454u,0x3db567e6u,
0x3dce8691u,0xbe1d3f75u,0x3ce69322u,0xbd1a4383u,0xbda5becau,0x3c4c5ed7u,0xbdbabaa9u,0x3cdb8a60u,
0x3a1b5c8au,0xbd8f7dd2u,0x3a819ad0u,0x3e000389u,0xbb3ed467u,0xbcdd5d20u,0xbd89fff7u,0x3bc0214du,
0xbc8b75ffu,0xbda243d9u,0xbdcd988au,0xbdb8b24bu,0x3d299652u,0xbd020df6u,0xbc9eb969u,0x3de0c9f1u,
0xbb124ef9u,0x3a046275u,0xbd17f0f5u,0x3d89bb23u,0xbda5a290u,0xbd235773u,0x3d969cacu,0x3e0ca737u,
0x3d34206fu,0x3d33a50du,0xbda0cc76u,0x3e0dd995u,0x3dc6cc6eu,0xbd158320u,0x3de4443cu,0xbda86c15u,
0xbd945cefu,0x3d3cd345u,0xbdabfc98u,0xbc829cadu,0xbd5d1517u,0x39c34ddau,0x3d650840u,0x3d2fccb3u,
0x3cba0ebfu,0x3d5cc5eeu,0xbcb3119eu,0x3c7828d8u,0x3ce32219u,0xbdcc4e1cu,0xbd7b97b4u,0xbdcbd330u,
0x3d004988u,0x3d08d16eu,0x3d946e46u,0x3c66385fu,0x3d74199au,0xbe07499bu,0xbe0365b5u,0x3df4b6c1u,
0x3d6c7dd8u,0xbca9dc56u,0x3c382a81u,0xbd101c01u,0xbe1a08bau,0x3d8b86a5u,0x3e0c0ed4u,0x3d3b35e2u,
0x3d5303fbu,0x3db2fbb3u,0xbe51ef81u,0x3da8a3e2u,0x3da03054u,0xbd1f7798u,0xbdaaa6edu,0x3bb28c63u,
0xbd704bd4u,0xbd1ee307u,0x3df2e19au,0x3d7e0ba4u,0xbc88430bu,0x3d55d4ddu,0xbe5835a8u,0x3de5dcf9u,
0xbd6c5058u,0x3da0af1du,0x3cf173d4u,0xbcecfa61u,0xbd271742u,0xbd389a51u,0xbd108a6cu,0xbd437c79u,
0xbdf6796cu,0xbdd509c7u,0x3e304503u,0x3da811fbu,0x3c830728u,0xbd095288u,0x3a8ad4b3u,0x3de391a8u,
0xbcc019e5u,0xbd2acc66u,0xbdf2ef3fu,0x3d85ebc6u,0xbbe77d30u,0x3d85d698u,0xbdbd5cafu,0xbe0d7f36u,
0xbc9eca7bu,0x3d9547bcu,0xbd608409u,0xbe32e003u,0xbd483831u,0x3d3e24c1u,0x3cef8736u,0xbdcc39b8u,
0x3d7db886u,0x3d2c7b18u,0x3dc8a8a7u,0xbda6e59fu,0x3cfa8b29u,0x3cf73db4u,0x3cc163f5u,0x3d7773d2u,
0x3c0d55e1u,0xbdd0cd9cu,0xbd952031u,0xbde246a9u,0x3d113e5cu,0xbe4890c1u,0xbdb7ab45u,0xbdff9472u,
0x3d30dc24u,0xbcde9f8bu,0x3ba5b4deu,0x3e3c10d5u,0xbd700cfdu,0xbd1bd76cu,0x3d537578u,0x3d13afc7u,
0xbd65121eu,0x3e2acb36u,0xbd0ca109u,0xbd0125e0u,0xbd281a9du,0x3dbab5e3u,0xbe51972bu,0x3d1e097au,
0x390913acu,0xbd7e4995u,0xbd82c68au,0xbdd62e04u,0xbe102a1bu,0xbda50bf4u,0xbd71f40eu,0xbca229ddu,
0x3ca78ae2u,0x3d061e5eu,0x3dc4783fu,0x3c46c9f5u,0x3d97f578u,0xbdc403dbu,0x3da2c4adu,0xbda638b1u,
0xbbffb5d0u,0xbbb6e189u,0x3d66d479u,0xbcca5d6eu,0xbd8558e8u,0x3d8dd82bu,0x3c16d7c5u,0xbd37655cu,
0xbcf97b89u,0xbd00bb86u,0xbd2307feu,0x3dbf89a5u,0xbdf45512u,0xbd845c11u,0xbbbb9ce1u,0x3d96c950u,
0x3d917102u,0xbb884e52u,0x3d8be4cau,0x3d20e7bbu,0xbe3a761au,0x3d4b67b1u,0xbe008f00u,0xbd88146du,
0x3d7ef899u,0x3c9a7bb5u,0x3da9cd8bu,0xbd45ed0eu,0xbd18ccffu,0xbb2fb437u,0x3d420990u,0x3d973495u,
0x3d7d6ea0u,0xbd1ee066u,0xbca915f5u,0xb9622c41u,0x3d178d9eu,0x3d487ceeu,0x3d59d4cau,0x3d742918u,
0xbd8722b1u,0x3e0d29b4u,0xbad7bf0bu,0xbda38473u,0x3b89f0dau,0x3c74602cu,0x3de7eba1u,0xbda1f8abu,
0x3d444857u,0xbd57189au,0xbd890d76u,0x3c946d30u,0xbdb0350au,0xbd77aa47u,0x3d6c5e3du,0xbcb0d396u,
0x3ce45339u,0x3e14b3edu,0xbdd80386u,0xbd35d678u,0xbdbad642u,0x3da3bd94u,0xbd933352u,0xbbabbf71u,
0xbcaced4au,0x3cc9d241u,0x3deea8c2u,0x3d84adf8u,0xbc0e776eu,0xbe0aa8a2u,0xbd0243d4u,0xbd989e6au,
0x3d8ac147u,0xbb22c3ccu,0x3cb1c118u,0xbd0c124eu,0x3cc2b825u,0x3d1bd8e2u,0xba87137bu,0x3b0496c0u,
0xbc3d05bfu,0x3c7d7242u,0xbd0b789bu,0x3d5663c3u,0x3cbe9b1bu,0xbcd6788eu,0x3af795f8u,0x3b39b1c7u,
0xbc7571d6u,0x3d442414u,0x3dc95a89u,0x3d06037eu,0x3d97f0f2u,0xbde48581u,0xbcbcfdbfu,0xb9bbd6d7u,
0x3d6dcbedu,0xbd1cdf64u,0x3dc8be89u,0xbda70675u,0x3b63009du,0x3e16237cu,0x3dc4f582u,0xbda07e95u,
0x3d2cb906u,0xbdeced3cu,0x3e270359u,0xbe205eaeu,0xbcaa4d5eu,0xbd5c5726u,0x3d8a2ce1u,0x3ca985afu,
0x3d16384cu,0x3d506499u,0xbd2fc8eau,0xbda7d23au,0x3dcc89a0u,0x3ccbcd99u,0x3cdcf704u,0xbd7528efu,
0xbdafb22fu,0x3c8c75bbu,0x3d295f3bu,0x3e3ef1ffu,0xbd28fbdbu,0xbd791551u,0xbd265a6fu,0x3dc3c1e1u,
0x3c456659u,0xbda6ea58u,0xbcfa7e32u,0xbdc3a970u,0x3dbd5906u,0x3cb88911u,0x3d0d0ac3u,0x3d8392f0u,
0x3aac241au,0xbd96fc9cu,0xbc83f511u,0xbbafaa73u,0xbd11cfcbu,0x3d9fc451u,0xbd2747acu,0xbd6b3b3cu,
0x3ca33e20u,0xbdcb968bu,0xbd332547u,0xbe0d943du,0x3bf55cb2u,0xbd00a5d8u,0xbda2c293u,0xbd43d30fu,
0x3d2ade57u,0x3dff1418u,0xbd997f20u,0x3db157d4u,0x3dfc9069u,0xbe16361cu,0x3d9ffb8cu,0x3bba13d0u,
0x3bfb30ffu,0xbd9a41fbu,0x3e085c77u,0x3da01289u,0x3cf98738u,0xbdecb58eu,0xbe728a93u,0xbc0c632bu,
0xbd5dba23u,0x3e4a771eu,0x3d79398du,0xbce51765u,0xbae8c130u,0xbde9cc1bu,0x3d31c5a7u,0x3c830658u,
0x3ac39932u,0xbd7a8ee9u,0xba8e2449u,0xbd3260fdu,0xbb2ccc80u,0xbd0c3c01u,0x3d2bc839u,0x3d9f0911u,
0xbcfd6f8au,0xbe45c932u,0xbdb4bed6u,0x3c827520u,0xbcbcdff2u,0x3e5b89c7u,0xbd094ac9u,0xbd176d4eu,
0x3d206e0eu,0x3dc900cau,0xbddfca8eu,0xbda6ca9eu,0xbdb403bau,0x3dc28f58u,0x3db69fa4u,0x3daa67e5u,
0x3ca317e9u,0x3d46f83fu,0xbdcbcea6u,0x3db11e4fu,0x3a25c435u,0x3d807ee3u,0xbdacc256u,0x3d4423a5u,
0xbb636c34u,0x3d937120u,0x3b6426acu,0x3d722f84u,0xbe794211u,0xbe1db7f5u,0x3ddeb77au,0x3d40b83bu,
0x3c8a2f33u,0xbdcc0850u,0x3e3978c5u,0x3dce6520u,0x3c7189fau,0x3da32dc1u,0x3dd6c149u,0x3d2b76b7u,
0xbd535f6cu,0xbe09e60fu,0x3d706a29u,0x3dc4adfdu,0xbc4e87f3u,0x3d1de25du,0x3cb52553u,0x3cdff3eau,
0x3cdc332cu,0xbda80158u,0x3e18791fu,0xbc8f0877u,0xbe1bcc69u,0xbd4f86abu,0x3e0e4c61u,0x3dd1a43cu,
0xbd201992u,0xbd6394e2u,0x3d6968a0u,0x3db98d66u,0x3dbc4447u,0x3de555c2u,0x3c00ba56u,0xbcf61710u,
0xbc9b3adcu,0xbd69006eu,0x3e396c1au,0xbc39e003u,0xbbebb4fdu,0xbdd90394u,0xbd31c945u,0xbe023ee2u,
0x3d1eee79u,0x3ca99fc9u,0x3da37da7u,0xbe4a72dcu,0xbd970d74u,0xbd0f5adau,0xbd38743au,0x3da95eccu,
0x3dac4420u,0xbb53b5fcu,0x3d8ac58bu,0x3c7d4001u,0x3d06eec1u,0xbddc4d8fu,0xbc679552u,0xbdb6e790u,
0xbd0f464eu,0x3db644e0u,0x3d192971u,0x3e09739du,0x3cd880b0u,0x3e14e2e7u,0xbdd1a655u,0xbd044014u,
0x3ca72ff4u,0xbd9868f3u,0xbd3c959fu,0x3dadd459u,0xbd889a76u,0xbdb2466cu,0xbdc40d34u,0xbdf299c3u,
0xbe16bf97u,0x3dcd122fu,0x3bbf5d41u,0x3d0b65dau,0x3ce60aefu,0x3c10e967u,0xbd9e8c13u,0x3d66b8b6u,
0x3d4e0c1cu,0xbce0a008u,0x3dbd0b6cu,0xbd623791u,0x3da19a21u,0x3da47091u,0xbcf2ff3du,0x3d5acba3u,
0xbcbfc74fu,0xbd17ddc2u,0x3d84dd71u,0xbdb610d4u,0xbd30a1cdu,0x3cbc1f69u,0x3dd279e9u,0x3d906863u,
0xbc9fcfe5u,0x3db3753du,0xbd1167a6u,0xbcce97cdu,0x3ca212e7u,0xbda81494u,0x3e08a296u,0x3b86b749u,
0x3dbce14du,0xbd64de00u,0xbe28e0d2u,0xbbc9d4eeu,0xbd9cddbbu,0x3de88341u,0xbd35ba75u,0x3cf541fdu,
0xbda9ddd6u,0x3d69a4f3u,0xbc38c3a2u,0x3e2a598au,0xbd5d3851u,0xbde1be88u,0xbd960d68u,0x3ca43284u,
0xbd3484a3u,0x3c127e87u,0x3be38db7u,0x3d4b31c8u,0xbd640b06u,0xbc2d7ee2u,0xbd29472au,0xbc36bbadu,
0xbc83aeeeu,0xbd792648u,0xbe34db69u,0x3dadcf2au,0xbd181156u,0x3da55241u,0x3e053b4fu,0xbe940179u,
0x3dd1f55eu,0xbd069c97u,0x3cd51f83u,0x3beccb55u,0xbe471c19u,0xbd3ccac2u,0x3c84250du,0x3e1ecc57u,
0xbd3f7842u,0x3d20b13fu,0xbde722ebu,0xbd95b7dbu,0x3ac53646u,0xbd32059eu,0x3d3f3bdau,0xbdaca1b9u,
0x3da8ceebu,0xbd6b139bu,0xbe07848eu,0x3db4cbb3u,0xbd9af1d9u,0xbd88e9ebu,0x3dab37f6u,0xbd938202u,
0x3d4f2499u,0x3c9ec689u,0x3dab9d18u,0x3dd7f88au,0x3e01a9cau,0xbd45d6f6u,0x3d418ae4u,0x3c0a1774u,
0xbdac1a5bu,0xbdedf354u,0x3c4eb0e0u,0xbd180786u,0x3d336d4bu,0x3e022611u,0x3e110352u,0xbe48209cu,
0xbe06770bu,0xbd4a0306u,0x3ded3d14u,0x3e2393b2u,0x3dee3cc9u,0x3e895877u,0xbe372e09u,0xbe3e5906u,
0xbdbefcd3u,0xbd01ec3eu,0x3c0b6c79u,0xbe4ed44bu,0xbd6bd353u,0xbd3ad365u,0x3d806f0fu,0xbba61cffu,
0x3d7434abu,0xbd0bee9du,0xbd6a391du,0x3caf282cu,0x3d9e3b4du,0xbc3f7eb3u,0xbb57ff6du,0xbd5e147fu,
0xbe3c34ddu,0x3cf0bedau,0xbb99dfacu,0xbd54e4bau,0x3c67b447u,0xbdbc29fau,0xbc46a6b2u,0x3d877379u,
0xbdb94c6cu,0xbd0fc2acu,0x3cc1a5a5u,0xbd861589u,0x3ad9c7eeu,0x3daecb8au,0xbd8a1e29u,0xbd64bf3eu,
0xbdcaec7eu,0x3d071fa4u,0xbc6b72a4u,0x3da6a319u,0x3cc0b43bu,0x3d7bbfecu,0x3c9789f5u,0xbe135a82u,
0x3db8e57fu,0xbc98268cu,0x3d77fc56u,0x3dfd7ba2u,0xbd0b002fu,0xbde702adu,0x3dc273acu,0x3cdac66au,
0x3b20242au,0xbcfc5c71u,0xbd050d6cu,0x3d811ddau,0xbce14209u,0x3e2f63cfu,0x3c823a9du,0xbd365a8au,
0xbd924301u,0xbddac501u,0x3c0b7161u,0xbd0605c4u,0x3d22c675u,0xbdf817d0u,0xbe29a941u,0xbd5a1a86u,
0xbe071885u,0xbdf96287u,0x3de4e2a3u,0xbe190ef5u,0xbc929009u,0x3ca92121u,0xbe01cbb2u,0x3d69c702u,
0x3df6b699u,0xbe43e515u,0xbea37849u,0xbeb5edf3u,0xbd6d2f83u,0xbe5316acu,0xbda6bdedu,0xbe3066a2u,
0x3d432d58u,0xbc0b6787u,0x3d1a2dabu,0x3cb5f32du,0x3d6267c8u,0xbdbed236u,0x3e0a7a60u,0x3b5e46e2u,
0xbd5dd9beu,0xbc6d92afu,0xbcb30231u,0x3d95cc0fu,0xbc82b54bu,0xbd8a4143u,0xbd5eb59cu,0xbe0e8a75u,
0xbd937402u,0x3d93261bu,0xbbe668f0u,0xbd392b49u,0x3d87220du,0x3d94b4adu,0x3d5e7247u,0xbd93b0d0u,
0xbda6eb45u,0xbe2e0580u,0xbd887f33u,0xbc0e6525u,0xbb664979u,0x3cfd230cu,0xbdbf4368u,0x3ced7d76u,
0xbc55c970u,0x3e0f2aa8u,0xbd7b50bau,0x3dca31bcu,0xbd88d043u,0x3d9c7176u,0x3dec2021u,0x3b41d174u,
0x3d266e4au,0xbd5af63bu,0x3ceaaed8u,0xbd8ff55cu,0xbd9f8d7au,0xbb92e99au,0xbc5ff6a3u,0x3dc90cdbu,
0xbd9411cdu,0xbdd59c8bu,0xbe0a6a64u,0x3b3f80c5u,0xbe1522b4u,0xbd4d1a40u,0xbdbcf9c4u,0xbd9f4cadu,
0xbbe0bd1bu,0x3ca661c1u,0x3cd97ea9u,0xbd9eb40au,0x3d051e25u,0x3d81b3ecu,0x3c252f80u,0x3c6f880eu,
0x3d2aaaf2u,0xbe259f72u,0x3d0bc64au,0xbd21f0eau,0xbd2c676fu,0xbc9bbb9bu,0x3d97c998u,0x3c0657eau,
0xbdcaafe6u,0x3dab94d7u,0xbc2db11bu,0xbc4e7233u,0xbd0cc200u,0xbd3402f8u,0xbe0e8a2du,0x3d330756u,
0x3d6ad3a1u,0x3c6a53fau,0x3de9f2f1u,0xb82f3bc8u,0xbd4ac62du,0x3debfc9bu,0x3e0ed017u,0x3cbb0e95u,
0xbdd140eau,0xbd12bf1cu,0xbd8f978fu,0x3dc42313u,0x3c118f21u,0x3d156eb0u,0xbd91ac98u,0xbac5b298u,
0xbd040b14u,0xbe5493e0u,0xbddb4000u,0x3d51b2e8u,0x3cc6eed5u,0x3cd64e66u,0x3dd151c5u,0xbd2cf0dbu,
0xbe0ae29bu,0x3da4733eu,0x3bc3437fu,0x3cbadd9cu,0xbe1e12f1u,0xbcdea34bu,0xbdfceff8u,0x3c9f85e8u,
0x3ddf70ccu,0xbe472088u,0xbd0a755du,0xba4b0ce3u,0x3dbe6c65u,0xbe34e22du,0xbd801398u,0x3d6d81bbu,
0x3d2ed827u,0x3de35436u,0xbd47c2eau,0x3dc85462u,0x3d700a25u,0x3d5da27cu,0x3dc1201au,0xbdf79a61u,
0x3e074e89u,0xbc63329cu,0xbcc44ce6u,0xbde90033u,0xbdefd26au,0xbc45020fu,0xbcbd7c1cu,0xbda4a2cbu,
0x3d94cb2du,0xbd6ea37au,0x3d46bc51u,0xbdc976fcu,0x3d11ebbcu,0x3d8b3d8au,0xbca91d7fu,0xbe2a7d98u,
0xbc57945au,0xbd9d8eb5u,0x3d979197u,0xbc42611au,0x3dd74dd7u,0x3dacf647u,0x3c3e42bau,0x3cbc571cu,
0x3cf9991fu,0xbd75b6b0u,0xbced8a26u,0xbc8de276u,0xbdc92f37u,0xbdafb14cu,0xbd17a382u,0x3d6f646cu,
0xbd0fa59eu,0x3d3710c1u,0xbd9cf61du,0xbe0e52ceu,0xbbf8cea6u,0xbcf4b3bcu,0xbca94018u,0xbe0a4f1au,
0xbda13cabu,0x3d0f9090u,0xbe00b47fu,0x3d782aabu,0xbde85372u,0x3d63ad8au,0x3df6c94au,0xbdda418au,
0xbd376221u,0xbd86ef0eu,0xbd884252u,0x3d8b4236u,0xbc0b56bdu,0xbe0883acu,0x3d7b0538u,0x3d898e7cu,
0xbd4bfe4bu,0x3d5f0afdu,0xbc80d2cbu,0x3de25a37u,0xbdfe67d6u,0xbde967b4u,0xbdb17975u,0x3cf004eeu,
0xbe0b6071u,0x3e34ebbbu,0xbdc093d6u,0x3dfc1bc6u,0x3cdbf899u,0xbc6c044bu,0x3d9243f8u,0xbd98e52cu,
0x3bc46d64u,0xbd9221a4u,0xbd8dc34du,0xbdebee2cu,0x3d52d0bcu,0xbe06e02bu,0x3e09696eu,0x3d8013e6u,
0xbd1de4c9u,0xbe132892u,0x3e607723u,0x3b9d0f20u,0xbca169f1u,0x3dbb862bu,0xbdace98au,0x3cbd1599u,
0xbe696702u,0x3d8bd9c2u,0xbcc89c63u,0xbe9727d4u,0xbe894208u,0xbdf88a12u,0x3e4e365au,0x3d61939eu,
0xbcb6a665u,0xbc5ffd81u,0xbd3dcadfu,0x3cac630au,0x3b7b7a84u,0xbd7ee066u,0x3d91f7cbu,0xbe21c491u,
0x3d00a0feu,0xbb4c3473u,0x3e04b603u,0xbdcd6b39u,0xbe30dca5u,0x3cc5a4a4u,0x3dd13f4eu,0x3df8f2d6u,
0xbe1c4652u,0xbd79d021u,0x3d326981u,0x3cbfcb51u,0x3dabb8f6u,0x3d1afcf9u,0xbdad6f2bu,0xbd086d63u,
0x3d434150u,0x3cfd390au,0x3daa6443u,0x3d44d25bu,0x3c2d6580u,0x3d9063fbu,0xbdced94cu,0x3c081beeu,
0xbd664b29u,0xbd9d6495u,0xbe809a2cu,0xbdcf3631u,0xbd0c0f65u,0x3e10edc0u,0xbdee1424u,0xbd8d2d5cu,
0x3d845ef0u,0x3dccb630u,0xbd04f306u,0xbd9a1fbbu,0xbdb8944fu,0x3dc442a4u,0x3e034178u,0xbdf4e940u,
0xbd747721u,0xbe112046u,0x3bd9203cu,0xbd911264u,0xbc0735b4u,0x3de4df5au,0x3c1981b6u,0xbdc03e8eu,
0x3d073c78u,0x3cf3c6deu,0x3d8768bdu,0x3da7c63au,0xbdce1955u,0x3d41918du,0x3e06a2b0u,0x3dfb9633u,
0x3d93361cu,0x3d8a4ae3u,0xbcf0842eu,0x3e8745b9u,0xbe131d62u,0xbd47011du,0xbe46687eu,0xbdc07d95u,
0xbcdaba02u,0xbc440ec3u,0xbe74ea13u,0x3ca6bcf2u,0xbd25b949u,0x3e06d4b7u,0xbd9549d4u,0xbd5d7075u,
0x3ce26daau,0x3cf3806du,0xbe29cb3bu,0xbe0307f4u,0x3c5e3f24u,0xbc7f647fu,0x3d238558u,0xbe07c6fcu,
0x3da70cc4u,0x3df7e58fu,0xbdc7a3aau,0x3abc9ca0u,0x3ceed789u,0xbdd13015u,0x3d3ed9e1u,0xbc1dcfa5u,
0x3ab2049du,0x3e390facu,0xbdb4d73du,0xbdf5483eu,0xbd77d0a7u,0xbcd2d62bu,0xbda7d9d3u,0xbc4a9195u,
0xbdcd4a0eu,0xbdfdc0edu,0xbe67d555u,0x3c695a37u,0xbe4259aau,0xbe227ac7u,0x3d54f46au,0x3d8ed4fbu,
0xbe183d10u,0xbeaa60e0u,0x3e1572f2u,0x3e0ca45fu,0xbd85220bu,0x3d4988c9u,0xbd96ff41u,0x3ce2b8c1u,
0xbcbd7106u,0xbe2289bau,0xbc28f21au,0x3d85620eu,0xbd7439b7u,0x3e2b4d84u,0x3daa4e73u,0x3d24fb74u,
0xbd86607au,0xbc20048du,0x3c910780u,0xbd054c5bu,0xbd3ad4cfu,0x3cecc760u,0x3d892a84u,0x3d7d2510u,
0xbddbb647u,0xbc690cb2u,0x3e0d5b07u,0x3d4fe81au,0x3d186e71u,0xbd89d837u,0xbc3242d3u,0xbd9858dfu,
0xbd134ca0u,0xbe940b0au,0x3db8ce60u,0xbdb42b7eu,0xbe2ee33cu,0xbe38db3cu,0x3d805a8eu,0x3cc9aa71u,
0xbbcb0fdcu,0xbd8e16c0u,0xbad84bdcu,0x3a1a9d68u,0xbe0dc494u,0x3dd40a18u,0x3d8236eeu,0x3d3e3527u,
0x3e3679adu,0xbdeac2c8u,0x3dea4d7fu,0xbe10f09au,0xbce4349eu,0xbdd72ae1u,0x3d025b35u,0x3c14844eu,
0x3d074f0bu,0x3dad6082u,0x3d4d1a5bu,0xbc793d6eu,0xbb975e5du,0x3d3bfc50u,0x3b71d953u,0x3dd218d2u,
0xbddd68f9u,0x3d87f23au,0xbdcc1dc8u,0x3e2d3ca7u,0xbdaacfa6u,0xbde41e6au,0xbe127961u,0xbb4942ebu,
0xbe2974aeu,0xbd4edbb6u,0x3dba94e1u,0xbd00d504u,0xbd7edd30u,0xbd54170eu,0xbd901014u,0x3d2b6a86u,
0x3d8ccc2eu,0xbc5ff55fu,0xbe50cacdu,0xbd5bcfe7u,0x3d03357bu,0x3c1f8290u,0x3e9b3c18u,0x3cba7b58u,
0xbdd16b25u,0xbd873f0du,0xbcf0dd6du,0xbe84dbc4u,0xbc00b51du,0xbe140ef1u,0xbc912cd6u,0xbd0d3f20u,
0x3c320d8du,0x3d162419u,0xbcd84bd3u,0xbd989a7fu,0xbc8b9e81u,0xbd5f6842u,0x3d1c7dc9u,0x3cc9032du,
0x3d69e90du,0x3d71bd34u,0xbce0882du,0x3d2b5a03u,0xbc8d6af5u,0x3db583b0u,0xbda39475u,0x3dea2871u,
0x3d0ab19cu,0x3d910cc2u,0x3d672a00u,0x3aa3df10u,0xbda73342u,0xbe7429b4u,0xbe1d5f5eu,0xbdb41af8u,
0x3cf9485fu,0x3c0fcfdbu,0x3e144592u,0xbc56daa1u,0xbc8fd581u,0x3d266128u,0xbe0d48f6u,0x3dd68c52u,
0x3dfa6bdeu,0x3d1179a5u,0xbe2d54bcu,0x3dd79212u,0xbd40c57du,0xbe019eebu,0x3d78052bu,0x3da012bbu,
0xbdc05dffu,0x3cb46987u,0xbbd42ccbu,0x3de2d003u,0xbc9e8734u,0xbdb76ffcu,0xbdc3177au,0xbd376dcau,
0xbe27571du,0xbb1b12d9u,0x3dc3f4e4u,0xbcdb01deu,0xbe1bddb7u,0x3d54bc93u,0xbe204305u,0x3d4f76f2u,
0xbd7aeceeu,0x3db23133u,0xb9dfe32bu,0xbd3f819au,0x3d934d9bu,0x3d3d3f61u,0x3d0430e5u,0xbc2f79a6u,
0x3d71cccau,0x3c83f8d8u,0x3d894059u,0xbcb29d61u,0x3d399546u,0x3dcb73c0u,0x3dcacd4bu,0x3dd2329cu,
0xbda9d3b4u,0xbd124069u,0xbd2f3e77u,0x3df6b7b7u,0x3c8c438du,0xbd3cbe5au,0xbd8d17c4u,0xbdd201c9u,
0x3c401c0du,0x3e36267du,0x3d11e62du,0x3e07ba72u,0xbd494b5bu,0x3d749d43u,0x3e1c3366u,0xbd219fabu,
0x3cc5f264u,0xbd5f9756u,0xbd444429u,0xbc2c5e30u,0x3c07a513u,0x3ccf89beu,0xbd08643bu,0xbdb5562cu,
0x3d048baau,0x3ddfc2d2u,0x3d05f70bu,0xbd39d896u,0xbdea6064u,0x3c0cbce1u,0xbbdbfff1u,0x3a9eaa43u,
0x3e067069u,0xbccf7e59u,0x3dda4f82u,0x3cfd3708u,0xbd124a6du,0x3e03783fu,0x3d24f449u,0xbdc279dbu,
0xbd85e14cu,0x3c7ec485u,0xbe58fda4u,0xb936976cu,0x3d94ff41u,0x3d98b8ebu,0x3e1af3bfu,0xbd39e0dbu,
0x3d0d7fdfu,0xbe46a2ddu,0x3d8d96a1u,0xbe077432u,0xbe1497cfu,0x3d85ede5u,0x3dbc481eu,0xbd6054b0u,
0x3e35ad64u,0x3d8fc453u,0xbe3b90fbu,0xbc816c74u,0x3d5d3d38u,0xbd6e0d43u,0x3dd82065u,0x3c89f707u,
0x3dd0aa96u,0x3d08688fu,0xbd6c0ef8u,0xbdc1d52eu,0xbd365695u,0xbbc27c8bu,0x3d3ea323u,0xbd893112u,
0x3d93b639u,0x3d5103ecu,0x3d2474e0u,0x3d35e3ebu,0x3c6e01f2u,0x3cce3930u,0x3d8c32a5u,0x3d33893au,
0x3dd7d909u,0x3d5bdd23u,0x3d3826c0u,0x3da00b13u,0x3d179a4bu,0xbd9f0417u,0x3cc2a7a9u,0xbe56eb06u,
0xbdc6b84bu,0xbd5123abu,0x3e13f8ebu,0xbd31db4bu,0xbcc264ffu,0x3d0e9289u,0x3c6ace58u,0xbddf2153u,
0x3d3f221fu,0xbd6861b6u,0x3d3f1ce2u,0x3d9d716du,0xbd1bded4u,0xbda3b245u,0x3db7cfbcu,0x3cc85042u,
0xbcba075eu,0xbda43d4cu,0xbcc26d7eu,0x3d85dd4bu,0x3d9fc49au,0xbd93fa37u,0x3bc87ef9u,0xbd59b4aau,
0xbd22ed09u,0x3d845a92u,0xbd2ccb02u,0xbd9666a9u,0x3d5f8c4eu,0x3dddf1c7u,0x3d641aefu,0x3d5bd013u,
0x3b2a4a13u,0xbd1fcf37u,0xbc158e0eu,0xbdac20a9u,0xbd4e667eu,0x3c5969bbu,0xbd0a162cu,0x3ddf788fu,
0xbc4c7f40u,0xbd4aa23cu,0xbde5111bu,0xbdc964a6u,0xbc174613u,0xbd9a7bcfu,0x3d39fbedu,0xbd02e743u,
0xbde9294eu,0x3e6a8c5au,0x3d2e5118u,0x3d582efdu,0xbdde6553u,0xbe298636u,0xbd5850a4u,0xbd323491u,
0xbe809f60u,0xbd3fdddcu,0x3dd934f9u,0xbbdbde8au,0x3e047298u,0xbda94c99u,0xbe38219du,0x3c52b1ceu,
0xbd89e8c4u,0x3de4349au,0xbe4efbbdu,0xbd1e9271u,0x3d7df652u,0xbdcea671u,0xbd390dbbu,0x3d9aded2u,
0xbe709fd8u,0x3e46b65au,0x3d920cb0u,0x3dae8504u,0x3d907971u,0xbd902694u,0xbcbb9c86u,0xbdb4e159u,
0xbc69c2fcu,0x3cab2c29u,0xbe1ac872u,0x3e3315deu,0xbc58a08cu,0x3d5aa27bu,0x3d9d2a1cu,0xbd9a24b6u,
0xbe0643d7u,0x3c94a90au,0x3e1e2e1bu,0x3e62e81fu,0xbe0d13f8u,0x3b80a984u,0xbd99001du,0x3d6ccf10u,
0xbdb10926u,0x3d857533u,0xbdff35c9u,0xbdf2a519u,0xbe31a7a0u,0xbdbe06b3u,0x3d3158feu,0x3da62bc4u,
0xbda24263u,0xbe6f7160u,0xbc4a9ce4u,0x3e1a5f07u,0xbed50c6au,0x3c182abeu,0xbdf4785bu,0xbd09d805u,
0xbe5cfa51u,0x3e444820u,0x3e547397u,0xbd547358u,0xbddb71d9u,0x3d55c878u,0xbd615e4au,0xbd1566dbu,
0x3cce48d8u,0xbc8078dbu,0x3d76cd01u,0x3da485c5u,0xbd9957b0u,0x3dced404u,0xbd22dfc3u,0x3db44ea8u,
0xbe178af0u,0xbcb39976u,0xbde961aeu,0xbe3a401bu,0x3da9c938u,0x3db6db47u,0xbe001153u,0x3d448986u,
0xbd850417u,0x3e06ff4eu,0x3ca7d046u,0xbe0bb1a5u,0x3dafe48au,0x3e5c2282u,0x3d972406u,0xbe07e8ceu,
0xbd677d20u,0x3cd74140u,0x3cf6b4feu,0x3c61c04du,0xbab29849u,0xbe767ed4u,0x3dc3345eu,0xbd279021u,
0x3d946480u,0xbd5b9846u,0xbe01b9bfu,0x3cad418bu,0x3d65ea2cu,0xbe0ec611u,0xbcbd264fu,0xbe3a3475u,
0xbd927f49u,0x3ddf3631u,0x3e2593b1u,0x3e902aa1u,0xbd6f2e91u,0x3d89a437u,0x3d7063c9u,0xbdd66a55u,
0x3dc97231u,0xbd022a1au,0xbd7f8078u,0x3caf86ffu,0x3db09356u,0xbdf53f31u,0x3d9324b6u,0xbd25ef8bu,
0x3cc14371u,0xbda4de71u,0xbbac9128u,0xbdc197e6u,0xbbe9f18bu,0x3e27adc6u,0xbe5cbf1du,0x3d1486cau,
0xbe0780b0u,0xbd32f23bu,0x3e492fb5u,0x3e1afb6eu,0xbdaee705u,0x3ca64e88u,0x3e579e47u,0xbe0a50b6u,
0xbd7b8bc5u,0xbc768372u,0xbcb26b9eu,0xbd693733u,0x3d1d21f7u,0xbd02807eu,0x3cfcf547u,0x3dd8397fu,
0x3db5a111u,0x3cf0b2e1u,0xbe04824bu,0xbd9bf26au,0x3d16dfdbu,0xbe1c3805u,0x3d1bcf42u,0xbdb5fb1au,
0x3d82bb1au,0xbe0a41eau,0xbce155d9u,0x3d0a6654u,0x3da7419fu,0x3e036659u,0xbe327af8u,0xbc059b45u,
0x3cb301aeu,0x3e0b5004u,0x3c23ef02u,0xbd4ba5b7u,0xbdcdb622u,0x3d9bc5f7u,0x3c46be4du,0xbe22506eu,
0x3d45d396u,0xbda99a7eu,0x3d90620fu,0xbe0eafc4u,0xbc8fe50bu,0x3db57f17u,0x3e036f90u,0xbdc64c35u,
0x3ca70269u,0xbd71047au,0x3ceb0636u,0xbdc8c504u,0x3d40bbeau,0xbbb602aeu,0x3d949703u,0xbda55357u,
0x3e3208d4u,0x3ddaed07u,0x3d84ef86u,0xbb74ddf8u,0xbd283aa5u,0xbc18742cu,0x3dddf688u,0x3c0a3211u,
0x3db60906u,0xbe06136bu,0xbd3bb8acu,0x3cb3fa71u,0xbda5e8a7u,0x3de55c0fu,0x3db9533cu,0xbd1dc075u,
0xbde91ab9u,0xbdc3c194u,0x3e36a57eu,0x3e30690fu,0x3c700f21u,0x3da045acu,0xbc94757au,0xbe045b42u,
0x3dac5583u,0xbd33fdfau,0xbdfd8ef8u,0xbcc81990u,0xbe350de1u,0xbd3e36afu,0xbddb84f1u,0xbe2c084cu,
0xbda3a8efu,0xbdc558b2u,0x3d8eac4du,0x3dc74d01u,0x3dd79e3cu,0xbcdc78fdu,0xbe3ac12au,0xbbb68c48u,
0xbdfe5a85u,0xbe857ceeu,0x3e33bd10u,0x3dd07a72u,0xbd2019d6u,0x3e0b051du,0xbd83c421u,0xbe34c36eu,
0x3df14221u,0xbd02621cu,0x3d7e9991u,0xbe823d92u,0x3c426966u,0xbe3c411cu,0xbc777edbu,0x3c8e39d4u,
0xbc500afcu,0x3d03af54u,0xbbb57bc3u,0x3d289635u,0x3e12b304u,0xbd02f85au,0x3e1d347fu,0x3cc3032du,
0xbd9694eeu,0xbc752d24u,0xbd3bcad1u,0x3d807960u,0x3d97f163u,0x3da8db2fu,0x3dafd6a4u,0xbd8f311bu,
0xbbc876c7u,0x3d6ef13du,0xbd1744aeu,0xbca5c948u,0xbdfeccb8u,0xbd3b65eau,0xbcef6f8fu,0xbe6ea3d3u,
0x3d50728au,0x3d230d53u,0xbde79c56u,0x3da5a9bfu,0x3d5adfedu,0x3db47c47u,0xbc305a55u,0xbe05ec48u,
0x3cb6ce17u,0xbdc7de43u,0xbde56116u,0xbd227661u,0xbdd97a14u,0x3d47d13fu,0x3d31a916u,0xbde41c1cu,
0x3d0e0e0bu,0xbdcb8ec9u,0x3cee8182u,0x3c9891c8u,0xbd5ddc4cu,0x3d8817f5u,0xbd92c312u,0xbdde836fu,
0xbe154310u,0x3d86e8a7u,0xbd09d4f3u,0x3dab8d80u,0x3d861f0fu,0xbc3137bbu,0xbc516546u,0x3dff4692u,
0xbdd203deu,0x3e2e86f1u,0x3dd5fd26u,0xbe0e7d3du,0xbd8b2456u,0x3d81cae2u,0xbcd330d6u,0x3dc2fea5u,
0x3e40b6e4u,0xbe0e09d3u,0xbe9cb282u,0xbd61f7a9u,0xbd862d14u,0xbe7f28eeu,0xbdcfc871u,0xbd4da4bcu,
0x3d3a2313u,0xbde7c814u,0x3deb3597u,0xbb3483f1u,0xbcf1e49fu,0xbb09cc27u,0xbdc6dba7u,0xbddc89d4u,
0x3c3cd9c3u,0xbd2649bdu,0x3de1b438u,0xb99f15cdu,0x3d2fd613u,0xbe2193a4u,0x3cf52c7au,0xbd4ec168u,
0xbd040e45u,0xbd25fb0du,0xbd552239u,0x3c4b8898u,0xbd4a8e78u,0x3d7ccc20u,0xbd4fcd55u,0xbcb5a2c6u,
0xbdaeadf6u,0xbc722412u,0xbdcddc0bu,0xbc9f00aeu,0xbe26aa49u,0xbc4c5ba0u,0xbdae67d8u,0xbd9fdee9u,
0x3c7c184bu,0x3c22f47cu,0xbd549781u,0x3c518e54u,0xbdba1728u,0xbdebeb80u,0x3b954782u,0xbad17acdu,
0x3d56d735u,0xbdb22d6au,0xbdc1908cu,0xbe0430e0u,0x3d9b2810u,0x3dba64f3u,0xbd8293e3u,0xbd7d190bu,
0x3cd55c0cu,0x3dac1851u,0xbda464e5u,0x3d70716fu,0xbdd696b8u,0x3e17aea6u,0x3cda87e1u,0xbdd9e618u,
0x3d44a4d7u,0x3ba0a7eau,0x3d7b82f4u,0x3bd71514u,0x3d4d4f14u,0xbd000fe4u,0x3d4567a1u,0xbe2bfe4eu,
0xbdc25270u,0x3d1ddc5au,0xbdebf5d5u,0x3da90848u,0x3cfa2fa5u,0x3e1147b8u,0x3d56439eu,0xbe3ad15eu,
0xbe065f51u,0x3b514aa4u,0x3ca54ea7u,0xbc8cca7fu,0x3d8e067du,0x3d3a17d0u,0x3b899557u,0xbd402561u,
0x3de83431u,0x3d566ee8u,0x3cc52eebu,0xbde2c0e0u,0x3ddfad19u,0x3dbb54c7u,0x3dfa4c00u,0xbd890201u,
0xbd9762b5u,0xbe4f7a81u,0xbd4a7b4cu,0x3cb307acu,0x3d76e35cu,0x3ba3e370u,0xbc86ec7bu,0xbd7a5e5fu,
0x3c7d0389u,0xbd0d55c0u,0xbd8fdf37u,0x3c19d03bu,0xbccba2bbu,0xbe0a8043u,0xbe0fb335u,0x3d6078d7u,
0xbc57c809u,0x3bcc8ec3u,0x3d80289cu,0x3db9fa52u,0xbc5c65c1u,0xbcafe0d1u,0x3c95d5ebu,0xbe244170u,
0xbd702302u,0xbda9b91au,0xbd5ef72fu,0xba9c4e52u,0x3dc82857u,0x3b8eac3eu,0xbcfe6b53u,0xbda029f9u,
0xbd9dbe72u,0x3d65397au,0xbd0399afu,0xbdeef20du,0x3d24770au,0xbe0b02beu,0x3d4ca287u,0xbe13a53bu,
0x3dbdbc4eu,0xbd860f58u,0xbde352c2u,0x3c4b7449u,0x3dcb6789u,0x3d0f05d3u,0x3c30d406u,0xbc81704du,
0xbd0ace3fu,0xbcae6ed8u,0x3db0e8ecu,0xbd8a6ed5u,0xbd98265fu,0xbc56ba91u,0x3c9dd2dau,0x3d6590d6u,
0xbd8c0df1u,0xbd6bd02au,0x3e157352u,0xbddcb595u,0xbdb868c0u,0xbcd82773u,0xbdab4321u,0x3d3c448eu,
0x3db4076bu,0x3d863997u,0xbd26a371u,0xbd528df0u,0x3e02055cu,0xbd1ad040u,0xbd1aa7dau,0x3de90965u,
0xbe8125dcu,0x3e15f17eu,0x3e33856bu,0xbeb8a2f7u,0x3e1fb66eu,0x3d6a0d25u,0xbe24acf2u,0xbd1936e2u,
0xbe69675cu,0xbee974a6u,0xbe5fbf5eu,0x3d06ac67u,0xbd890438u,0xbe275829u,0x3e22ed03u,0x3d9225ebu,
0x3d4f4e0au,0xbb2dd2d7u,0xbe3b5909u,0xbeb2a99eu,0xbe0a74d5u,0xbd84e377u,0xbdc3c0f0u,0xbd2ee6a2u,
0x3c848d42u,0x3e368f99u,0xbd2d07fdu,0xbd9548e2u,0xbd13a610u,0xbe5bfcc6u,0xbe395a31u,0xbde11a11u,
0xbe25b260u,0xbbc2a537u,0x3c5be75du,0x3e78e68fu,0x3c2938ceu,0xbcdf6b06u,0xbe17031eu,0xbe78f162u,
0xbd99bdbbu,0x3db7990eu,0x3c5cd50bu,0x3e158f02u,0xbd75fa93u,0xbdb55897u,0xbcad794du,0xbc4d5382u,
0xbec0e79cu,0xbdf69730u,0xbc230e02u,0xbe32bc03u,0x3d9e78fdu,0x3e298d79u,0x3e020935u,0xbe7136fdu,
0x3da09457u,0x3bad8686u,0xbddf6e4du,0xbe4551f3u,0x3dc19c0bu,0xbe2a9fd5u,0x3da927ccu,0x3e32383bu,
0xbc61fdf0u,0xbe03e1edu,0xbd05f9beu,0x3bcef7ecu,0x3d9d2223u,0x3d9b1df7u,0xbdb177cau,0xbdd52755u,
0x3d021fc6u,0x3d7646e4u,0xbdfff8d0u,0x3d7a3aa6u,0x3d8a57d2u,0xbdb7d345u,0x3e337087u,0x3cb3d7a8u,
0x3cd30a7eu,0x3e725a5eu,0xbd762d16u,0xbdcddf6cu,0xbd60ab90u,0x3dcec50bu,0xbdecde60u,0x3e889c54u,
0xbe1dcbb6u,0xbeba3583u,0x3d78d741u,0x3cb392beu,0x3e3f69c6u,0xbe000ea8u,0x3c4ba44cu,0x3c7d166bu,
0xbe45a4f8u,0x3e39fdf5u,0xbd7c29f7u,0xbc64e332u,0xbde5de8au,0xbde7a57du,0x3e21cf08u,0xbe7b7f49u,
0x3dd92f5bu,0xbe817908u,0xbd52d658u,0x3d2fdf8au,0xbd85c9b3u,0x3e50f0dfu,0x3cac096du,0xbd3d26b0u,
0x3c3b67e8u,0xbe2c9463u,0x3dc6d27au,0x3b57d3f8u,0xbe01f0a3u,0x3e310e3bu,0xbe7860f0u,0xbe23876fu,
0xbd962612u,0xbb80f3c2u,0xbcb91b8cu,0xbdb3cc5cu,0xbde97828u,0xbe44851eu,0xbc832879u,0xbd268e79u,
0x3ea5c433u,0xbb9c3d0fu,0xbd93f0bfu,0xbcf06c78u,0x3b98e0c8u,0x3cfaabadu,0x3a8961e7u,0x3e1a1424u,
0xbe0c57eau,0x3cd8cb48u,0xbe368a46u,0x3d241d9bu,0x3d204081u,0xbe4b2383u,0xbe19c2bcu,0x3da697e9u,
0xbdd1d47du,0x3d0dae18u,0x3db66e4bu,0xbdd3ffd5u,0xbd2ff3fbu,0x3ddcda86u,0xbdc9598au,0xbc7f22e6u,
0xbc005eddu,0xbd80a531u,0xbd1f250au,0xbd91848eu,0x3e106ed1u,0xbde17ef2u,0x3df7414bu,0xbd490f5au,
0xbc078febu,0x3e0c3cb6u,0xbe37d657u,0xbe267700u,0x3d665142u,0xbd0c5136u,0xbc4ef539u,0xbb27578eu,
0xbda4e330u,0xbd8c7efdu,0xbe238c59u,0xbd727b6bu,0xbcbd6de5u,0x3e13016du,0x3ce7c827u,0xbda4bcffu,
0xbd12f256u,0xbd8b2a2au,0x3d84b366u,0xbd7eda1fu,0xbe081adeu,0xbe796700u,0xbe0087dau,0xbdb490dfu,
0x3de6d40bu,0x3c2198dfu,0xbc2444a5u,0xbbcae3f0u,0x3d8128beu,0xbe0daabdu,0xbc819e01u,0x3cf4331au,
0x3c82c4d3u,0xbdd0c970u,0x3c8d48f3u,0x3e8a5c19u,0xbdc87f13u,0xbd7c03a3u,0xbe94f2d8u,0xbd35bdc2u,
0xbdaac980u,0xbe1f1e2bu,0x3d92305du,0x3e3d4f56u,0xbd754692u,0x3bd3aa07u,0xbe379867u,0xbdb30235u,
0x3d6b3377u,0xbe165d77u,0xbbc9e210u,0xbe6183b5u,0xbd0710a1u,0x3e2800e1u,0x3d2cd1d0u,0xbd0d9829u,
0xbdd02520u,0x3db56000u,0xbdd97588u,0xbdcb19f9u,0xbcf1ff84u,0xbe712e82u,0x3d9bcc34u,0x3e75c065u,
0xbe67fa37u,0x3dcf264au,0xbdc2dec5u,0x3dcf84b5u,0x3d74dbecu,0xbda8dcd4u,0xbd0c6182u,0xbe23f58du,
0x3b2b9e8eu,0xbc37efa3u,0x3bae5c9du,0xbd85ad8eu,0x3d0f0017u,0x3c0a7ae0u,0x3e413f8du,0xbb94e144u,
0xbe031fa8u,0xbdba15a4u,0x3e2d536cu,0x3b295cdeu,0x3bd47d4cu,0xbd3051eeu,0xbe98d085u,0xbc349742u,
0xbd07aabeu,0x3dd604d1u,0xbdd8b59au,0xbe3df93cu,0x3be23aebu,0xbcd11b04u,0xbd4e959bu,0xbc7a17e9u,
0xbd99906bu,0x3d3da0b3u,0x3e126869u,0x3db7f912u,0x39ea071au,0xbe243df0u,0x3d332ff3u,0xbdca1dfbu,
0xbdaedc8au,0xbe1d6617u,0xbe23277au,0x3ca932fbu,0xbe53803du,0x3e447f77u,0xbe01c307u,0x3c32023eu,
0xbd2a055du,0x3da3090fu,0xbc15650eu,0x3d901415u,0xbe2ae5efu,0x3ca7c971u,0x3c7c6a2cu,0x3d9cb2dcu,
0xbc91a9e2u,0xbe6c85cdu,0xbe062607u,0xbdf576e7u,0x3ce192e2u,0xbd74b17au,0x3c2209efu,0xbd867c21u,
0x3cbfac2fu,0xbdef09f3u,0xbd85722cu,0xbe0d2badu,0xbd908327u,0xbd1cdb0cu,0x3dc7435bu,0xbe7d496au,
0x3c9bde5au,0x3d3a78a3u,0xbde0acb0u,0xbd83ecc3u,0x3da271a8u,0xbdfb2a43u,0xbe07a444u,0xbcf5fbebu,
0x3d362c79u,0x3b9a1c9fu,0xbb95e575u,0xbd3aeb6du,0x3e0ce794u,0x3d8d9c95u,0x3c8695c1u,0xbdd4f418u,
0x3a7da1e8u,0x3db4c92fu,0xbc40b14fu,0x3e7e2766u,0x3d5ec0f3u,0x3cc01759u,0xbd56fb80u,0xbc59b7b6u,
0x3d900584u,0x3df4fc6bu,0xbdd03c3eu,0xbe08e4b6u,0x3de11e7cu,0xbdc4bb96u,0x3d99fa03u,0xbc36d1b8u,
0x3c014e10u,0x3d97560cu,0xbe05ad9cu,0x3cb1f627u,0x3d2d51cfu,0xbe3a39a0u,0x3e83692fu,0xbdba7a5cu,
0x3d7dc77eu,0xbe6f4b3eu,0xbddbb007u,0xb9def944u,0x3dd6390bu,0x3d368868u,0xbe12eaa1u,0xbe43e540u,
0x3e08d616u,0x3c1321ebu,0xbdc4095fu,0xbe025196u,0x3d01eed6u,0xbd06affeu,0x3cbf00d0u,0x3d0c29e6u,
0x3d256f19u,0xbbe5bcb1u,0xbd88166du,0xbe180b24u,0xbe5bb9e6u,0x3d6d4dfau,0xbddb741du,0x3d9a9cf9u,
0xbd4f2f87u,0x3dd91c33u,0x3d5aff11u,0xbda13ef8u,0x3dfa5502u,0x3cbe64cfu,0x3d8cdb5fu,0x3db10522u,
0xbdf05669u,0xbe10b795u,0x3dd75c49u,0xbe0d30f4u,0xbd72482bu,0xbe094a63u,0x3c80e5a7u,0xbd4e6eb3u,
0x3e42da30u,0xb559f700u,0xbdae5abcu,0xbe020dd4u,0xbddea5dfu,0xbd8d63deu,0x3babc3fbu,0x3d0d5129u,
0x3c2a2e38u,0x3d3925ccu,0x3e06ea73u,0xbc472ccau,0xbdb1876bu,0xbe089ea8u,0xbe048cf4u,0xbd904b25u,
0xbe081a00u,0x3d9a171du,0x3d37776eu,0x3e27c6e4u,0xbd4c73ccu,0x3d84466bu,0x3cfd7580u,0x3d14dd11u,
0xbd81a584u,0xbdf77708u,0x3e4b0b78u,0x3dde02e8u,0xbd54ed2fu,0x3da1cceau,0xbe7a1d38u,0xbd2d75f9u,
0xbd866ed1u,0xbd1c6d9du,0x3dc8442du,0xbe0ed9d6u,0xbd778ef5u,0xbe0e80c6u,0xbd80c7d6u,0x3d8552a7u,
0xbd228f47u,0xbd615dc0u,0xbd969375u,0x3ddd8129u,0xbd4347d3u,0x3c56eb96u,0x3e1c6930u,0xbe0705deu,
0xbd943c18u,0xbe074aa7u,0xbe2e7782u,0x3d57b22cu,0x3d647984u,0xbce9229eu,0x3bb13b66u,0x3ce215a5u,
0x3d352850u,0xbbd80541u,0xbdb4dddcu,0xbe1b8e76u,0xbe1b7c18u,0x3dbbe256u,0x3cdb5bfcu,0xbc9cde25u,
0xbe9a168au,0xbe067054u,0x3d8abc0cu,0x3e42bbfcu,0xbc87b0f9u,0xbc377cbdu,0xbee5df57u,0x3d414bbcu,
0x3da9e622u,0x3cc94d65u,0xbe28b70du,0xbccb08d4u,0x3e44541du,0xbe7359efu,0x3d0016a2u,0x3be6e732u,
0xbe71f9acu,0x3dbdd44cu,0xbc444988u,0xbe1acaceu,0x3b5753c1u,0x3d6ae4c4u,0xbe23a004u,0x3cab6cf7u,
0x3df4810fu,0xbca30669u,0xbe26e933u,0xbd7bf8f0u,0xbde204dcu,0xbce04b53u,0x3d29f740u,0xbde0f71du,
0xbdebed0du,0x3daae112u,0x3d606883u,0x3b8b2715u,0xbd457845u,0x3e012419u,0xbd666da9u,0xbd91050eu,
0xbdea8226u,0x3e4e079eu,0xbea3f8feu,0xbf08e0ceu,0x3da8b21bu,0xbe035025u,0xbe612042u,0xbe8bf888u,
0xbd5c38f8u,0xbce27715u,0x3d17211bu,0xbd687098u,0xbe1f4ea4u,0xbdf75fc3u,0x3e5edf4bu,0x3e0f4722u,
0x3de33335u,0xbd670a56u,0x3c5c55b2u,0x3bda0de7u,0x3d85f519u,0xbc122693u,0x3dd15f55u,0x3cb20b46u,
0xbafabd98u,0x3cb5e3c8u,0x3cd09c38u,0xbc2a58bfu,0x3e0f7e1bu,0x3e0a4461u,0xbd7f2020u,0xba1e6ec7u,
0xbd9b83f0u,0xbc547db2u,0xbd8d393bu,0x3e33f731u,0xbd16df36u,0x3da11b03u,0xbd51c43fu,0x3c647c8fu,
0x3e220183u,0xbd917bd9u,0x3c9d4c9au,0x3d485acdu,0x3d5a4f3fu,0x3bd32f51u,0xbd255b85u,0xbcc29b92u,
0xbe8b02a0u,0xbe138083u,0xbcc5462cu,0xbdfb3779u,0xbd669127u,0xbc057876u,0x3df95b41u,0xbd842cafu,
0x3db11783u,0xbdd29795u,0x3cf19d16u,0x38e341edu,0xbd6df5a3u,0xbca3f82du,0x3c4a91b0u,0xbd35166eu,
0x3d0858dcu,0x3be1b67du,0xbdad1405u,0x3c2c9dd0u,0xbca768feu,0xbc537c19u,0x3e3faf0du,0x3c8436f1u,
0x3d1e3331u,0xbd579e6au,0x3d297f26u,0xbe263131u,0xbd805bdbu,0x3dac61c2u,0xbc6959e3u,0xbe06ce72u,
0xbc0523beu,0xbccae8d5u,0x3c566f5cu,0xbcd1d52au,0x3e273b6cu,0x3c6176b6u,0xbde1ed46u,0xbc8c8e7eu,
0xbe2d92e6u,0xbd0ead2du,0xbd8e1a1du,0xbdcb1dc7u,0x3d9161dfu,0xbd7321bcu,0x39a6d0e2u,0xbce3e7d4u,
0xbe1ccbb6u,0xbd636ff2u,0x3d54e04bu,0xbd210737u,0xbdfd4c98u,0xbd3e23d6u,0xbca884cdu,0x3e5258c2u,
0xbc904fd2u,0x3e16ff4du,0x3ba8b667u,0xbe09a7deu,0x3d60b1d2u,0xbd8b637cu,0xbd9abf2du,0xbdd09955u,
0xbcc59004u,0x3dc40d95u,0xbe39ec0cu,0xbc8e6005u,0x3d36f180u,0x3b60ef7eu,0xbe52bf5fu,0x3e12b450u,
0x3ddef353u,0x3d6b91b8u,0xbe17806fu,0xbe0bb447u,0x3b213d37u,0x3baea5adu,0xbe8b3580u,0x3e4aded5u,
0xbd6a6315u,0xbb1eb9a3u,0x3d303758u,0xbe1d5da6u,0xbe01dde9u,0xbcf6f56eu,0x3c8262fbu,0x3be99598u,
0x3d1a2d59u,0x3d92ea4bu,0x3ad03dbfu,0x3ceeb0ecu,0xbd02f1c0u,0xbd45ee39u,0xbdf9a3f7u,0xbda14c21u,
0xbcaaca34u,0xbd70adbdu,0xbd1a128au,0xbcd09639u,0x3e1584a3u,0xbd51a46du,0x3d1ce0abu,0xbd1a66c4u,
0x3dbc08a7u,0xbbeece2au,0xbd40bddau,0xbdbfebc1u,0x3c4dede9u,0xbdf8a11du,0xbc96267cu,0xbc001bd4u,
0x3d194e1cu,0x3cb9e39au,0xbcb34d6eu,0x3de56786u,0xbd86686eu,0x3e323fceu,0xbd2e141fu,0x3e0dc65cu,
0x3d1652c1u,0x3c635898u,0x3d9c9356u,0xbd391d4du,0xbc396eebu,0xbc85c134u,0xbd65a040u,0x3ca39c17u,
0x3cd1527eu,0x3e0ff46bu,0xbd27378fu,0x3d95f729u,0xbd533948u,0x3deb4a3au,0xbcc58e36u,0x3de88661u,
0xbd05ac8cu,0x3afe27cbu,0xbd45f585u,0x3d308960u,0xbe2413ecu,0xbd208e34u,0x3daae7e6u,0xbe065d9du,
0xbdebf737u,0x3d88471eu,0xbd1c1fe6u,0x3d2f4d40u,0xbdac9620u,0xbd125fefu,0x3b8b5e2bu,0xbc51dcdbu,
0x3c58a654u,0x3cec8087u,0xbd7504d5u,0xbe0dab60u,0x3d7da8f5u,0xbd929280u,0xbd5a5492u,0xbe234226u,
0xbe032fcau,0x3e1022a8u,0xbde93f5au,0x3d53e8a9u,0x3bf07952u,0x3cf656fcu,0xbd2b6d00u,0x3d2d2eb2u,
0x3bc4cfd0u,0x3da05986u,0x3db33b7au,0xbd92ff16u,0xbd725a17u,0xbe2db21au,0x3d817858u,0x3dc56918u,
0x3d338bbdu,0xbc5a23c1u,0xbd240d53u,0x3e00b37cu,0xbd07c9cau,0x3d8cad1bu,0x3d1aa48du,0xbe140916u,
0x3c95a1fdu,0xbdad827du,0x3e15229au,0x3e256891u,0x3d77dc60u,0x3d508186u,0x3c1298f2u,0xbe24ab77u,
0x3cb25badu,0xbb0bdc02u,0x3c3419f0u,0xbd35a8d9u,0x3d1b7259u,0x3d522f30u,0x3d0482e1u,0xbba54e92u,
0xbcf21129u,0xbd2ea82eu,0xbd548aedu,0x3d8ec0adu,0xbdb03e89u,0x3cbf2a24u,0xbc5483bdu,0x3c8876d5u,
0x3c9ceac8u,0x3d74e8c5u,0x3cb9c881u,0xbc517170u,0x3d4d57a5u,0x3c571ca0u,0xbc258b31u,0xbd2d7cd2u,
0xbc24d4c9u,0x3ca99c7fu,0xbd17ce4eu,0x3d0d6b06u,0x3d7941b3u,0xbe203dd4u,0x3e350e05u,0xbe31cb27u,
0x3d8d3918u,0xbd67d2dau,0xbd3b049bu,0xbca5baabu,0x3dd9eedfu,0xbdf4ce87u,0x3b773224u,0x3dbf6d83u,
0x3dbda856u,0x3de3d13fu,0x3dfa4358u,0xbd185cdbu,0x3b8a3a76u,0xbddfde01u,0x3e17c366u,0xbcb74978u,
0x3cdc926du,0xbd4b718eu,0xbc5b8678u,0xbc0b0fedu,0x3a882e28u,0x3da291d6u,0xbd98f2f1u,0x3e503aaeu,
0xbd888f95u,0xbdc01af1u,0xbc921e9eu,0x3d6fdd20u,0xbde0a020u,0x3b158e81u,0x3d3fd752u,0x3e16924eu,
0xbe29d10eu,0xbdd50cb9u,0xbb822e36u,0xbe5276ffu,0x3cb8cf29u,0x3ce72d7eu,0x3c4d12fbu,0x3e1fb5f2u,
0x3cd00e9cu,0xbe0f47e6u,0x3c266239u,0x3d87ed29u,0xbd0ad94bu,0xbdb02aa0u,0xbe414a30u,0x3da6eab7u,
0xbdaeae8du,0x3d030e1bu,0x3c298fb4u,0x3dff277cu,0xbe00f866u,0xbdbb2807u,0xbd8944cbu,0x3d19cd6bu,
0xbd690d73u,0xbb7edf3au,0xbde8023du,0xbdad7598u,0xbcd30eddu,0x3dc831adu,0x3d427b83u,0x3d978d1eu,
0x3bc89e42u,0x3deb5544u,0xbd2a45c4u,0xbd2419aeu,0xbe2e736fu,0x3c09d7afu,0xbd35fa01u,0x3e0eaacbu,
0x3db4d2f4u,0x3d26bdaau,0xbd944b24u,0x3cb9148du,0xbd510c22u,0xbd57b042u,0xbd4867ceu,0xbe58048eu,
0xbdb9c056u,0xbe6e0248u,0x3d88c179u,0x3d80da5au,0xbd9df97bu,0x3cade3e5u,0xbe10e862u,0x3e013ffbu,
0xbe1accd3u,0xbcc95e8au,0x3df6d51cu,0xbd94cb07u,0xbcf0c631u,0x3dde7cb0u,0xbdcfc5aau,0x3c3f30ebu,
0x3d72e999u,0xbd4b59dbu,0xbe123565u,0x3d701043u,0xbd4b25eeu,0x3dd0253bu,0x3cacf36au,0x3c7e07f5u,
0xbdd86061u,0xbd13d221u,0xbdd6235fu,0xbe39a0f1u,0xbe36352cu,0xbe0ab8e8u,0xbd7fd8a1u,0x3dd7787fu,
0x3dcb9515u,0x3de45a11u,0xbc369094u,0x3d27b469u,0x3d487f0fu,0xbeab6e8eu,0xbe421cb8u,0xbeb91031u,
0xbd874af1u,0xbcb953c9u,0x3def0a06u,0x3dc7df3bu,0x3e05d18fu,0x3df13951u,0xbc3b082au,0xbe87e454u,
0xbbb61139u,0xbca00ad2u,0xbd437a8eu,0x3e28bd4fu,0xbdeb7bffu,0x3dd7aa03u,0xbd27fcf3u,0xbcf0f677u,
0xbcce1256u,0xbdbc500au,0xbd748e18u,0xbd79be81u,0x3c741537u,0x3e024a48u,0x3c81157cu,0xbe2710a4u,
0x3d374326u,0xbd3e39a1u,0x3d4e6283u,0xbdde3497u,0xbced72a0u,0xbe491473u,0x3e1fd4edu,0xbd25af6cu,
0x3dd42062u,0xbd29da3du,0xbccb8d7bu,0x3bafa8d3u,0xbd16a159u,0xbd2d2dd0u,0xbe19b460u,0x3d11ead1u,
0x3e547ac8u,0x3defe0c1u,0xbdff0738u,0xbe49a8ceu,0xbcbb56a8u,0xbe6ead67u,0xbd13b3e6u,0xbe00e3ddu,
0x3d4d0fe6u,0xbc60b168u,0xbbbd4500u,0x3c628a7bu,0xbdf705dbu,0xb92bd4e0u,0xbd8bc973u,0x3d6aac3eu,
0xbd2706ebu,0xbd2d501cu,0xbdbb2360u,0xbd61fb19u,0x3d07c340u,0xbc05150fu,0x3e022b6bu,0x3d6546d7u,
0xbd9bc86cu,0xbcca76dfu,0xbe8eed8cu,0x3e3c4665u,0xbddbfdd4u,0x3d95faabu,0x3d73c8f5u,0xbe0b33a1u,
0xbe3b76edu,0x3c5d3805u,0x3c483875u,0x3c963f7bu,0xbe5539c6u,0x3d6c4a09u,0x3ccf8dd4u,0xbd7a8025u,
0x3e381c20u,0x3ba081feu,0xbd424470u,0xbc7d62c3u,0xbe69993bu,0x3cd039e5u,0xbc88faa7u,0x3cc1fc40u,
0xbdc11510u,0xbd092fabu,0xbe1a79a8u,0x3c8b98a4u,0xbc5127bau,0x3e06805cu,0x3c92882eu,0x3d8b6680u,
0xbd47f4d9u,0xbc383712u,0xbd864c4fu,0x3d9ff811u,0x3dca4986u,0xbd518e53u,0xbdbb4f93u,0x3dcc6ec9u,
0xbd80b7dfu,0xbc6f5548u,0xbcc38ab0u,0x3dee4a86u,0x3bcea685u,0xbda014eau,0xbc9c768au,0xbd275d05u,
0x3c763f20u,0xbd50a664u,0xbd9dc325u,0x3dd14588u,0x3df34edau,0x3d06bca1u,0x3ce885dau,0xbcabaf20u,
0x3d92501du,0xbd0ba1a4u,0xbe113ea1u,0xbc8645f1u,0xbde6205bu,0x3d932913u,0x3c66dec1u,0x3e039f6du,
0xbc3178a8u,0xbd3c7258u,0xbc3f2497u,0xbd2b76a2u,0xbd372626u,0xbd194231u,0x3d23ec79u,0xbd896e19u,
0x3ca76a98u,0xbd49437fu,0xbd10a02bu,0x3e09bcb6u,0xbd22a9d2u,0xbd5def02u,0xbd60e44eu,0x3d8bfe12u,
0x3e147a2du,0xbd088b47u,0xbb1e325bu,0x3c0b44e8u,0x3d5e0cd8u,0x3d8dc793u,0x3db59fcdu,0x3b8f2bceu,
0xbd690969u,0xbda0ce27u,0xbdc3ec27u,0x3d119ff0u,0xbd573665u,0xbd76fe1au,0x3cfdc9ccu,0x3c686f22u,
0xbd34b758u,0xbd128552u,0x3ddaff78u,0x3c67ed3bu,0x3d9c767bu,0xbd37a5acu,0xbdb52b79u,0x3dd43338u,
0xbbf49470u,0xbdf15734u,0xbd9026f2u,0x3d2c7b47u,0xbd1203ddu,0xbd2bb063u,0xbdadd144u,0xbc8b4423u,
0xbb5af960u,0x3dccf6dfu,0xbc46cd16u,0x3b2562f6u,0xbd98a1d7u,0xbd7ffc64u,0x3deb5b9eu,0xbd72b1d0u,
0x3e19ea56u,0xbe171600u,0x3d6bff39u,0xbc92445du,0x3d825462u,0x3e085d25u,0xbd1ebb00u,0x3da03e2fu,
0x3cb1a244u,0x3e0196b5u,0x3d0621d6u,0x3d2b1be8u,0xbd096f84u,0x3cc31b3du,0x3a4822c1u,0x3d9064c3u,
0x3d42fee6u,0xbc5a4dc8u,0x3d4faa99u,0xbe32b5abu,0x3b151492u,0xbdf39607u,0x3d343a40u,0x3aa912e7u,
0x3c194b45u,0xbda9f4adu,0xbc0fe2c8u,0xbcc3334cu,0x3d8363d9u,0x3ac3236eu,0x3d096dc0u,0x3cd2be04u,
0xbd4f60cau,0x3dd6da10u,0x3cd2203fu,0xbd419bd6u,0x3da32147u,0x3c913553u,0xbd8ea4a1u,0xbd5fd808u,
0x3d4dd8d7u,0xbd110010u,0x3e21b356u,0xbd4d4521u,0xbd893ea8u,0xbda67b59u,0x3c629160u,0xbcc64660u,
0xbd194c2bu,0xbd5dd18cu,0x3d86d8b6u,0xbe15565du,0x3c1a4ce6u,0xbc53703du,0xbcc3e643u,0x3d63924au,
0x3cf99b31u,0x3da7dff9u,0xbcc3f695u,0x3da6bd9cu,0x3dbb3726u,0x3c4e1718u,0xbd44d60cu,0xbd2ff82du,
0xbd74dccdu,0xbe301827u,0x3d49e8bcu,0x3e64dd5au,0xbdf73d27u,0xbdea2081u,0xbe05f9e6u,0xbba80742u,
0xbe3a82b5u,0xbd8d5d5au,0xbda40bd9u,0xbda14fccu,0xbd321220u,0x3d023c43u,0x3e2d259cu,0xbc80bef0u,
0x3d9e71a4u,0xbcaa90c1u,0xbd8bd16fu,0xbe0b899cu,0x3de8bd17u,0xbdc14cfeu,0xbdcb4f62u,0x3c235f3du,
0xbdf9f983u,0x3d88965au,0x3c588911u,0xbbabd506u,0xbcebea57u,0x3c98a8dbu,0xbc878784u,0x3d2d03bfu,
0x3cff558du,0x3e056e74u,0xbe3445d0u,0x3ce4ebd7u,0xbc49babdu,0x3d9560b7u,0x3d0c7763u,0x3bf34391u,
0x3d97eb6au,0xbd1ee4dfu,0x3dca9474u,0xbc012bd9u,0xbdc25201u,0xbd493f7eu,0xbe8130e6u,0x3e4ba101u,
0xbe6a39ecu,0xbe1d9438u,0x3d890fc5u,0xbe26a6b3u,0x3e2d6d37u,0xbc626ef2u,0xbe09d672u,0x3e1d095fu,
0xbe0fd3c4u,0xbc307d88u,0xbdb4db22u,0xbd5c2c03u,0x3d382ee2u,0x3e09453cu,0xbd133015u,0x3df633bcu,
0xbda0bd27u,0x3d8943ccu,0x3cee957fu,0x3c3a6e59u,0xbcbb26c7u,0x3c68bcb0u,0xbc4526c4u,0xbc5ab927u,
0xbd0b47e1u,0x3d1f54d7u,0xbcb19823u,0x3d2153cbu,0xbc118665u,0xbd1ec36du,0xbd1ad49au,0xba8b6f01u,
0xbe606069u,0x3d4d1736u,0xbe0c6897u,0xbb2a6914u,0x3e010d64u,0x3caf9511u,0xbe73efd3u,0x3da8c6dau,
0xbe36b7cau,0x3be723d3u,0x3dfaf5dcu,0xbdb377fcu,0xbe113a77u,0xbdf0f50au,0xbd9880b9u,0x3b8ae955u,
0xbd001450u,0xbd0dd5b7u,0xbd8e6bf1u,0x3e29174bu,0x3cf7e3e4u,0x3dc6dac6u,0xbdebb706u,0xbd82752cu,
0xbd38951du,0x3c51387fu,0xbdc50b6fu,0x3dfbc9eeu,0xbb051db2u,0x3cdee8dau,0x3c43ac35u,0x3cb37bd9u,
0xbe33b7abu,0x3d05bfdfu,0x3d611dd5u,0x3c874c94u,0xbd9608f8u,0x3a87e05bu,0x3c9a141du,0xbc72a1c8u,
0xbd80f5ccu,0xbcf421fbu,0xbcc6fe4bu,0xbdb14e9au,0x3e784d1au,0x3d457543u,0xbdc23d65u,0x3d3cd161u,
0x3d674ce0u,0xbcaaf9dau,0x3d0e432du,0x3c00ead7u,0x3cdf4374u,0xbde0319bu,0x3d3c561du,0xbd322e19u,
0xbd1ce76fu,0x3d731ebcu,0xbddd545fu,0xbd6bb480u,0xb914d11du,0x3dc52997u,0x3c8e25e1u,0x3d556b92u,
0xbc45981cu,0xbd3f3493u,0x3c97167bu,0x3e13e941u,0x3d9f463fu,0xbd842001u,0x3d9db975u,0x3cc9fce6u,
0xbb6acb19u,0x3bcab4bbu,0x3d71f4a8u,0xbcbaaaaeu,0x3ce2ecdeu,0x3c946005u,0x3d0c87d9u,0x3db59148u,
0x3da4035bu,0xbdd7dc6fu,0xbde69790u,0xbd1d5ab1u,0xbc21dc1bu,0x3e081cf2u,0x3d8961ccu,0xbe0ae02fu,
0x3d122715u,0x3d1adc6du,0xbd80d356u,0x3d8264b9u,0x3d5a8455u,0x3d80e0a8u,0x3dcf5e24u,0xbd1b6c7bu,
0x3ca11487u,0x3c647c39u,0x3d013e6eu,0xbd46da7au,0xbc24d6f5u,0xbdbf5569u,0xbdc0ee5fu,0x3bf62c18u,
0x3e249892u,0xbebc8bdcu,0x3d89bd1cu,0xbd8101cbu,0xbe17d261u,0xbc37a0edu,0xbddc85b2u,0xbe529971u,
0xbdfe76a1u,0x3e774d9fu,0xbd634b24u,0x3dafab05u,0xbdab0a9au,0xbdaee80du,0x3d3993a9u,0x3cfc4e0cu,
0x3db2a1c4u,0xbc700a85u,0xbda64b87u,0xbd42086cu,0x3dc84f88u,0x3d076070u,0x3d6b526bu,0xbd2ceef7u,
0xbdffc84fu,0xbd9edbddu,0xbe64fbafu,0xbe5cd3feu,0x3cad105au,0x3e18d4f1u,0x3dddd3a5u,0xbe4f4f32u,
0xbde56988u,0x3c6a0589u,0x3a1bc2e6u,0xbe54d9a4u,0x3e869f51u,0x3cee9247u,0x3e0fffa7u,0xbe0bbb1eu,
0xbda7a444u,0xbde8c06au,0xbdb5640fu,0x3d466a9au,0xbcc4554au,0xbc60c9edu,0x3d666d72u,0xbe16594bu,
0x3e59b671u,0xbdb6fb26u,0x3d498a71u,0xbdb84ae4u,0xbe4e9057u,0xbe1bf3dfu,0x3ca15b74u,0x3da03e9au,
0x3d1e95f4u,0xbe205f0bu,0xbe3ba0dau,0x3aa8d1eau,0xbe5823c9u,0x3d57fddcu,0x3c77dc04u,0xbe43d2fdu,
0x3db4d86eu,0x3e13b58cu,0xbcb29fa0u,0xbb39ecfdu,0x3d936591u,0xbdf0135cu,0x3cc319e3u,0xbe2d9695u,
0xbcd6a0eeu,0x3e3f224du,0x3deaada9u,0xbcc74f38u,0x3df5614du,0x3df7c956u,0xbd43f971u,0xbe277e86u,
0xbe4cde9fu,0x3cfc786au,0x3d478ea3u,0xbe7e2ae8u,0xbdac4c90u,0x3db21866u,0x3ddad8cau,0x3de8ab67u,
0xbdd4a0e0u,0xbe5c8748u,0xbdd60c8eu,0x3e5bace5u,0xbdca289fu,0x3e0ac0bbu,0xbe2b80f3u,0x3ba33f41u,
0x3ceda4e7u,0x3cd86ce2u,0xbda0f96du,0xbcda80c6u,0xbc0bae76u,0xbd86bdc5u,0xbe77bf72u,0x3e1aa7a3u,
0x3ceb1b73u,0xbe8d8dfcu,0xbe106f86u,0xbe33203du,0xbbaa2941u,0xbe1b48edu,0x3e5b049eu,0xbd6ccbb1u,
0xbe729c3cu,0x3ccd9afcu,0x3d1afcd3u,0x3e027e79u,0xbd819d84u,0xbe046dd5u,0xbe3afebbu,0xbe1601b7u,
0x3b3d71cbu,0xbe870d0bu,0x3e09900eu,0x3cddbf7eu,0x3d786569u,0xbdb36da8u,0x3df73faau,0xbd455734u,
0xbe2015b9u,0xbd9f0bb4u,0x3d280f5du,0x3df9db35u,0xbceb075du,0xbd028270u,0x3e028a5eu,0x3c14ff11u,
0x3cb72d40u,0xbda4b6dbu,0x3e335137u,0x3d633c1cu,0xbd772d33u,0xbba3e14au,0xbdb4ae5bu,0xbd67bd37u,
0xbd6aa8f9u,0x3d030a59u,0xbbbb9febu,0x3d7e91a3u,0xbd634532u,0xbd99bbdbu,0xbe19fd6du,0xbcc09779u,
0x3c6dda70u,0x3d18b577u,0xbd24e10fu,0x3d82f19fu,0x3d9efbf3u,0x3dee9bcdu,0x3d088c0bu,0x3d85775eu,
0xbd8c0eb0u,0xbdf00c1cu,0xbe33a392u,0x3d44039eu,0xbda7c01eu,0x3cf77d45u,0xbb006937u,0xbd9b56ffu,
0x3c23ee11u,0xbd105866u,0xbe1feaaeu,0x3df7c10bu,0x3afc552cu,0x3dea84cdu,0xbe208a43u,0x3da841efu,
0x3c18618fu,0x3d29132du,0xbc96144cu,0xbe1bf505u,0x3c3667fdu,0xbdad159bu,0xbd13206du,0xbcbc5a78u,
0xbdbdec00u,0xbdc1c913u,0xbdfd797cu,0x3d5441bdu,0xbdb68f7cu,0xbc563126u,0xbbd37f15u,0x3dc17f7bu,
0x3d51d940u,0xbe08ddddu,0x3df333f4u,0x3d77501cu,0x3d21bd3eu,0xbd8c9a47u,0x3d99bd7du,0x3cd85773u,
0xbd9e6ab2u,0x3b62710bu,0xbdfa1361u,0x3ddbdf6au,0x3d1a17c6u,0x3cff7924u,0xbccfa67cu,0x3a53de12u,
0x3d94e156u,0xbe16974bu,0x3da52816u,0xbe8108c3u,0xbda52a03u,0x3cdc1600u,0xbe1e99b1u,0xbdc83777u,
0x3e118199u,0xbcde84a7u,0x3c6b4554u,0xbd120456u,0x3db989d4u,0xbcdb67d2u,0x3d77b494u,0x3bee9946u,
0x3d1b862bu,0xbe5c2612u,0x3c508336u,0x3baf690fu,0xbd024db6u,0x3c81fee0u,0x3db3f71du,0xbba625ceu,
0x3dd173acu,0x3c4b8344u,0x3c95ac42u,0x3cb6a792u,0xbd82d041u,0xbbb7c317u,0xbd9b5b14u,0x3e2f1042u,
0xbd4d8b26u,0xbce2f660u,0x3b504221u,0xbdaea38cu,0xbd15c65au,0x3d21be8cu,0xbd7c3c20u,0xbdff38a3u,
0xbe97a102u,0x3c755381u,0xbe0bb1e1u,0xbe0a080eu,0x3d3e76cbu,0x3c863c56u,0xbe7c46d8u,0xbd3a391fu,
0xbe1ffce3u,0xbd811ceeu,0x3d8e6a18u,0x3dc36e68u,0x3e8dcc1fu,0x3e19556au,0xbe07bed6u,0xbd2d1119u,
0xbd107332u,0x3bb32b84u,0xbc823670u,0xbc16aea7u,0x3dc1cb01u,0xbdea5c76u,0xbdaf736eu,0x38a36c6cu,
0x3bd24e2au,0x3cae89e5u,0x3e166dc0u,0xbd8225f9u,0xbc337082u,0x3e22b61au,0x3e172137u,0xbdfa19d5u,
0x3e104139u,0x3d5b859cu,0xbd1eb333u,0xbe36d7a3u,0x3cd374a2u,0xbcb2caa4u,0xbde7beecu,0x3d9016c6u,
0x3d1288f4u,0xbdbf0959u,0xbe325c3eu,0xbe201f81u,0x3d067726u,0x3ce73b19u,0xbe0fb7dfu,0x3d8600f4u,
0xbc8fca84u,0xbdc37777u,0x3d9cd48fu,0xbb8b2b88u,0xbe03b767u,0xbe090dc2u,0xbdfa7a5bu,0x3d0b57bfu,
0x3da86341u,0x3dc6e23cu,0xbde0f2adu,0x3d735eecu,0x3da3f4b4u,0xbce68a67u,0x3d021a8fu,0xbdb791d5u,
0x3b2594a0u,0xbd07e026u,0x3dc4fd8cu,0x3df4f7d1u,0x3e0c5b6eu,0xbdeef0bdu,0x3e1709c0u,0xbd0015b8u,
0xbde96051u,0xba323c58u,0xbe299b5eu,0xbd1c29f9u,0xbcab6db3u,0xbc8ca000u,0x3b4b6b77u,0xbe58441au,
0xbe3678c1u,0x3cef39c5u,0xbe9ef008u,0x3d5e05e9u,0x3d35f765u,0x3dc5ce61u,0xbd0ec1eau,0xbdf28eddu,
0x3cff683bu,0x3b980b53u,0xbe925f63u,0x3d0f7b99u,0xbd504989u,0x3c30236au,0x3cb9b270u,0x3dfab845u,
0xbe084346u,0xbbc5fa6fu,0xbe198175u,0x3d9c34c5u,0xbdc4a66fu,0x3dd5ef77u,0xbcb71c95u,0xbd68ce2cu,
0xbd192f00u,0x3c9d304cu,0x3d936df3u,0x3e06f93cu,0xbdfa42b9u,0xbd5763edu,0xbcc81436u,0xbb320711u,
0xbdc841b6u,0x3e437ba5u,0xbdb87320u,0xbdaa5d01u,0xbdb228d1u,0x3e5660fbu,0x3d6b0134u,0xbe576897u,
0xbccb0231u,0x3da89becu,0xbc4b7d9du,0xbe486b7eu,0xbd9de6bau,0x3c9652ddu,0x3c0bf95eu,0x3da0fcb5u,
0xbc41bbbdu,0x3c9f5797u,0x3ab7cdc3u,0x3d78aaf4u,0x3d746976u,0xbd323be3u,0x3d0f1affu,0xbc1865c1u,
0x3d2f54ceu,0xbe252f2bu,0xbe0ae7f3u,0x3d0ddfb4u,0xbe00fecfu,0xbe0e3376u,0x3d7dc698u,0x3e04677du,
0x3d523f19u,0xbd60a86eu,0x3cb9da7eu,0xbe065cd0u,0xbd273a2eu,0xbe1bb765u,0xbe403ad7u,0x3d4f17a2u,
0x3c3c68e4u,0x3c10388bu,0xbcc0db6fu,0x3b4b7982u,0x3da1dbcdu,0x3e24118eu,0xbe05a8ccu,0xbe5cb350u,
0xbe84ca08u,0xbe099ecfu,0x3d5bf9e8u,0x3d1008bcu,0x3d2a60dfu,0x3e3d5fb3u,0xbdcf87a2u,0x3d08628cu,
0xbdf97763u,0xbde28763u,0xbd8160bcu,0xbcd12f5au,0xbc1353d8u,0x3daeb5dfu,0xbe73f93fu,0xbc8a4442u,
0xbe01e4e8u,0x3e05eb65u,0xbcdfc508u,0xbcf56a56u,0x3d2d0548u,0x3dbfd9cdu,0xbd0ff483u,0xbc281288u,
0x3dc963c5u,0x3d7ef084u,0x3da55173u,0xbdea6efcu,0xbd66fbf6u,0x3dc2e273u,0x3d4a8ed9u,0xbd3df110u,
0xbde63d43u,0xbdad6125u,0x3dbb85fau,0xbe0636c2u,0xbc9fe91bu,0x3c525e3eu,0xbd827f65u,0x3cffa564u,
0x3cfa3b34u,0xbd7d6c5cu,0xbe2b7414u,0x3c167b79u,0xbd12660bu,0xbeaa39b0u,0xbddcbf0fu,0xbe078f7au,
0x3c4955d0u,0x3bef41feu,0xbe01a32au,0xbbeaf77eu,0xbda8c573u,0x3c1febc6u,0xbdb3d54eu,0xbe00b2e8u,
0xbba72843u,0xbdc20a9bu,0xbca20d6eu,0x3ded4f83u,0xbdaa00f3u,0xbd573d72u,0xbdbea7ecu,0xbdad32e1u,
0xbd81f466u,0x3dc870d2u,0x3ca72feeu,0xbdea9ddbu,0xbdbbe310u,0x3e7014adu,0x3d9d6b2fu,0x3ad74ceau,
0x3e0ad027u,0xbe92e6e7u,0x3c1d519cu,0x3d206bbau,0xbe2b0032u,0xbe40a103u,0xbd972b03u,0x3e1b65f3u,
0xbd195bb5u,0x3d6faa0du,0xbd4de752u,0xbe0cc135u,0x3e034d73u,0x3dedc793u,0xbdcf3d7du,0xbea26f5fu,
0xbd8a51f3u,0xbd4e6cacu,0xbd59f333u,0xbe0a6322u,0x3d9c1bd9u,0x3d0c5eeeu,0x3ca96466u,0x3cbe0efdu,
0xbcb25945u,0x3c6b0b2du,0xbd9b8fc6u,0x3e25102fu,0xbd7f2106u,0x3e625258u,0xbe1b7f31u,0xbe03d9ecu,
0xbbff7a9du,0x3d79ba76u,0xbc8fc8c7u,0xbc10eecbu,0x3d7e9f25u,0x3d691839u,0x3e1b5975u,0xbe18a352u,
0xbdf99076u,0xbde8e1b9u,0xbe42926cu,0x3cc5aba5u,0xbe4b0da6u,0x3d12b7d8u,0xbdb9555fu,0xbdb36a37u,
0xba8bcdddu,0x3b00ecfau,0x3d1a81d5u,0x3c92f055u,0xbc0dba75u,0x3d01effcu,0x3d756dccu,0xbd73a2acu,
0x3dbee8b0u,0x3d2de1cdu,0x3d061847u,0xbdaddc61u,0x3c6b0082u,0x3be9b849u,0xbc0d6ed5u,0x3db67f4du,
0xbd212523u,0xbe08ac7au,0xbd96d8d3u,0x3e632fa3u,0x3e0315edu,0xbce6cce7u,0xbc38b458u,0xbd4800ecu,
0xbcccb2e7u,0x3ce27418u,0x3d9bd613u,0xbe82b437u,0xbd363e2au,0x3dee3a10u,0xbe35600cu,0x3d8ee17cu,
0x3d8225deu,0xbba73669u,0xbca171e7u,0xbd22c67eu,0xbddfca34u,0xbd18cb0du,0x3c249514u,0xbd838963u,
0xbdce3f61u,0xbd82c43cu,0x3d7e828au,0xbe141e9eu,0xbe1e15c3u,0x3cbc5ee5u,0xbcdcd446u,0xbe09ac97u,
0xbd2545f1u,0xbc2a155eu,0x3e01d1e2u,0xba4c236cu,0x3ccf0a2au,0x3d0a45acu,0xbd8ee9eeu,0x3d4d0fabu,
0xbc737226u,0x3cada3d5u,0xbda26d21u,0x3dd531ecu,0x3e09f682u,0x3cc164c3u,0x3d65efe3u,0x3d8ef9dau,
0xbd779955u,0x3d69ec19u,0xbe619876u,0xbdaa88ebu,0xbe0e8ed5u,0x3e4ac1f2u,0xbe99362eu,0xbd0e2b17u,
0xbdd0811eu,0xbe44b8d7u,0x3cd29335u,0xbe33ad95u,0xbcc207b0u,0xbd2d6ca3u,0x3c15bd0eu,0xbcd32e2au,
0x3dea4094u,0x3d8519b9u,0xbc7dd44du,0xbd52c5b9u,0x3c62453cu,0x3e21327au,0xbd54f5b1u,0xbd8309d1u,
0xbb4f3657u,0xbdb7a49du,0x3dce9a1bu,0x3da926f2u,0xbe080993u,0xbd0918a2u,0xbda9ca6au,0xbd011acau,
0xbdb97e77u,0xbe11feddu,0x3d7b0e30u,0xbcda69d8u,0xbdc9cc03u,0xbdb8b1bbu,0xbe422c79u,0x3da427c4u,
0x3dd5d4cbu,0xbdf640cau,0x3d01de1au,0xbdea0aa8u,0xbe0c6bfeu,0x3d279b95u,0xbd0e6a99u,0x3dea27e2u,
0x3c424cf7u,0x3ddd6e0fu,0xbd854b45u,0x3d69150au,0x3c9cc914u,0x3b9235b1u,0x3d0a7e85u,0xbc213f89u,
0xbd699022u,0xbd99b2b8u,0xbbd32b23u,0xbd9fa9b9u,0xbdcdf48du,0x3c19bfd8u,0x3de826aau,0x3de42effu,
0xbdae2150u,0xbdd35df9u,0x3ccfe608u,0x3d845306u,0xbe1ef90du,0x3d4dcc8eu,0xbe1b8f9cu,0xbd89772eu,
0xbddc22bcu,0x3d2fbf32u,0x3d8004dbu,0x3c86d890u,0x3dc61229u,0xbdcffb11u,0x3c87d569u,0xbd081a30u,
0x3d920259u,0xbbad0725u,0xbe511da9u,0xbd2c4936u,0xbe266e1fu,0x3cca5091u,0xbb4e9449u,0x3d157ae3u,
0xbc3dde35u,0x3d94007bu,0xbe2d60eau,0x3d55bee7u,0x3e212ff3u,0xbd47db56u,0xbda74bb7u,0x3e05b9dcu,
0xbc9ab455u,0x3d851bb9u,0xbd88892bu,0xbc21668eu,0xbd834449u,0x3bd9f498u,0xbcf35bedu,0x3c04ffd1u,
0xbe3b7dc5u,0x3e0e7acfu,0xbe83b736u,0xbe03558cu,0x3d89eee3u,0x3d8df0b7u,0xbd0bd646u,0xbe08b5ecu,
0xbe29b4c1u,0x3ce04085u,0xbd74e584u,0xbe26d8e2u,0x3e081441u,0x3cd93d0eu,0xbdf14b78u,0x3cba1b6au,
0xbe064b19u,0x3da39103u,0xbdf124a2u,0x3dce2653u,0x3dc137c8u,0x3c1bd2eau,0x3d8038dfu,0xbdd1b615u,
0x3e14a626u,0xbbd357d9u,0xbd79ca6bu,0x3d10937cu,0xbdb5e356u,0xbcde1d85u,0x3c776fcbu,0x3c693c7eu,
0x3ced7b92u,0x3df24a4bu,0xbdddbb1au,0xbe3e6de9u,0xbbe11d47u,0x3dc60182u,0xbcbdf840u,0xbd187c27u,
0x3c1e7928u,0xbbc85669u,0x3e3afc5eu,0xbdbe32cfu,0xbd173474u,0xbd870f42u,0x3de10407u,0x3c5af957u,
0xbdcedc8au,0xbbeb5dd6u,0x3c24ce70u,0x3deb5fb4u,0xbcc008afu,0xbc0e3eefu,0x3d23f883u,0xbccbe992u,
0xbdc0d439u,0x3d8537b8u,0xbd2caaefu,0x3c817386u,0x3db5ef92u,0xbd4a4a73u,0xbd804ec5u,0xbd50e157u,
0xbbd35044u,0xbb8881eau,0x3db7d77cu,0xbd0297a9u,0x3df01e01u,0xbe090d22u,0xbbe01a5au,0x3d8c480cu,
0xbd34ca13u,0x3d26e42bu,0x3d810233u,0xbdc26429u,0x3d79ef47u,0xbc876533u,0x3b977f17u,0xbb874b50u,
0xbdceed99u,0xbe058d4eu,0x3d264a43u,0x3e1e2035u,0xbe5eab23u,0xbd9c5f10u,0xbd898c3cu,0xbd1c5c39u,
0xbd70b583u,0xbdfcd666u,0x3dfa7d06u,0xbe1d278fu,0x3dc22fcau,0xbc054c0au,0xbe59e3dau,0x3dccf106u,
0xbcd3d737u,0x3d945460u,0xbd738e38u,0xbd3ba822u,0xbd25c0bau,0xbc594c52u,0x3aebaf26u,0x3d48a756u,
0xbea5ee4fu,0x3e1dd844u,0x3c9f3ec9u,0xbd4ebe4bu,0xbe506430u,0xbe12072eu,0xbceac965u,0xbdcf5366u,
0x3c2a2684u,0x3d8939b4u,0xbe3a8418u,0x3dbd4f17u,0xbd75bc64u,0x3d31d031u,0x3c6e7284u,0x3c83ed1bu,
0x3cfab947u,0xbe0e8662u,0x3d32a336u,0x3da3bd1eu,0xbd49af4bu,0x3bdef850u,0xbe36696eu,0xbd40c81au,
0x3d626887u,0x3e11b4bdu,0x3ddfd7e6u,0x3d4aff2du,0x3ddd204cu,0xbe14427au,0xbb92fdcfu,0xbdefefa4u,
0xbcc0983bu,0x3bda3735u,0xbc9d41d3u,0x3cb734ffu,0xbd8035f9u,0xbcdece5cu,0xbdbdbca9u,0x3bf17543u,
0xbd1f1a7au,0x3bb69fdeu,0x3c9b0eccu,0xbe20dd6eu,0x3c1e844au,0x3c25a2e6u,0x3d20897cu,0xbe1c804au,
0x3c329d93u,0xbe0e4cecu,0x3df0aaefu,0xbe3a2fc1u,0xbe7be1c3u,0x3cc1bc86u,0x3dba90a9u,0x3e07477au,
0xbd77e5c7u,0xbd33e0c7u,0xbe38ab33u,0xbc844726u,0x3da950dau,0x3e0ef9e8u,0xbd85ab68u,0xbdd2691fu,
0xbd771b2du,0xbd0bb71au,0xbdbf2f3au,0x3de89053u,0xbe8b7ba2u,0xbde548a8u,0xbd56d0d6u,0xbd3af107u,
0xbca41684u,0x3e5e3a1eu,0xbd8f0f73u,0x3c831370u,0xbda5b418u,0xbd8d74b7u,0xbcb8761du,0xbd5dfcc8u,
0x3db9f936u,0xbd800a6cu,0xbc466fa8u,0x3df446aau,0xbddf318bu,0x3d2c7316u,0xbd179388u,0xbdf35538u,
0xbe6a53ddu,0xbdb64053u,0x3d61b1bdu,0x3e01ca5bu,0x3de583e3u,0x3d97b24bu,0xbdb287bau,0xbdc889c2u,
0x3d96cbe4u,0xbdb6a5c3u,0xbc405a6eu,0xbe397514u,0x3dba6d08u,0xbd988ea5u,0x3d1b763eu,0xbd12250bu,
0x3d0f15b5u,0xbd82362fu,0xbcd0ef55u,0x3c9bdb97u,0x3daa0d25u,0x3caf307fu,0xbccabe09u,0x3dc73832u,
0xbda7f156u,0x3d820356u,0xbdc7125fu,0xbcb67753u,0x3e11a34fu,0xbcc677b8u,0xbdde5800u,0xbb1dba94u,
0x3ccf2670u,0xbcf3e308u,0xbd9926a5u,0xbd453118u,0xbc438c0cu,0x3d089b81u,0xbe134b68u,0xbd679d8eu,
0x3d49a8d2u,0x3d9c0266u,0xbdc824edu,0xbe171192u,0x3dd5c7b3u,0xbe92e14cu,0x3dad6cf3u,0xbd5ae98au,
0xbc9406c5u,0x3cc98a98u,0xbe0ff455u,0xbe013107u,0xbdeb27a9u,0x3da49f35u,0x3ba77218u,0x3d11cc52u,
0x3d092503u,0x3aa92585u,0x3dfe8415u,0x3dcb0cceu,0xbd241e7fu,0xbd7e3544u,0x3e03133au,0xbe69551fu,
0x3d6592e3u,0xbd970d18u,0xbd2367f4u,0x3d96364fu,0xbd267a38u,0x3d8c9dd8u,0x3d27053au,0xbd15d5dau,
0x3e1372ddu,0x3c5159d5u,0x3d2e71cdu,0xbd8e074cu,0x3a2c971cu,0xbd11f87fu,0xbce948f7u,0x3d44f879u,
0xbd309a7du,0x3d6c5f5cu,0x3d5eae84u,0xbdd0ab79u,0x3cf51f48u,0x3bd390b6u,0x3d38302fu,0x3e17dfa1u,
0x3d099733u,0xbe036dbcu,0xbcbc75d2u,0xbe385864u,0x3e04dcb0u,0xbd4fa6edu,0x3d2c9985u,0x3c69b567u,
0xbcccc131u,0xbda1936fu,0xbe185027u,0x3c8333a9u,0x3deaed1du,0x3d8ca404u,0x3e384a29u,0xbe128aa0u,
0x3cdff939u,0x3be6eea2u,0x3da7d7e8u,0xbd350fd6u,0xbbc0c53bu,0xbe7ba6dfu,0xbc68322cu,0xbcb4fd2au,
0xbd386f32u,0xbcd9aae2u,0x3d2574e4u,0x3c26e219u,0x3e60d2d0u,0x3dd40551u,0x3cc7a2ffu,0xbcb32567u,
0xbd0329d9u,0x3d857110u,0x3cd5fdc3u,0xbdf94152u,0xbd35d881u,0x3ce71463u,0xbbb7523au,0x3d4df11du,
0x3df44639u,0xbdd9df9eu,0x3dd2aa10u,0x3d3fa95bu,0xbe1f8622u,0xbd520d29u,0xbb8c28cfu,0xbd312d4eu,
0xbd447c9bu,0xbe2a50d7u,0x3cd55aeeu,0xbdb1893bu,0x3d9d33c4u,0x3d9857c2u,0x3d82f6bbu,0xbd35f0aau,
0xbd833d03u,0xbc6b2757u,0x3dd4fef2u,0x3a8b21f3u,0xbc49aeefu,0xbd0ab7c9u,0x3c5baab4u,0xbc38e168u,
0x3cbc5c9du,0xbc4b11afu,0x3e14e3b8u,0xbdc49e6bu,0xbd93bb42u,0x3d4eb7aeu,0x3cb99d77u,0xbc48a2bfu,
0x3dd77baeu,0xbc3792cfu,0xbce55f3eu,0xbb52a244u,0x3cc044cbu,0xbde30c43u,0xbc657b09u,0xbc958ee7u,
0x3e4a6477u,0xbe16d64au,0xbe0b3eafu,0xbd418d76u,0xbe42c7c0u,0xbcec13ffu,0x3d9fcc55u,0xbd208d6eu,
0x3d613970u,0xbddda7f8u,0xbdbae2b2u,0xbe216e5cu,0xbe3a3595u,0x3b126a0au,0xbdd3714du,0xbe21f361u,
0x3d7de061u,0xbbf45399u,0x3e845fbbu,0x3db94d6cu,0xbd9b98abu,0xbd4e81b8u,0xbdbf379fu,0xbc2f48beu,
0x3cd4f260u,0x3cb05f67u,0xbd8cf050u,0x3dc04478u,0x3dc1db71u,0xbde67eb9u,0xbcc7e580u,0x3d7f2094u,
0xbc4f07f1u,0xbdc27d3cu,0x3dbf3ff3u,0xbd33746cu,0xbd71fb25u,0xbd267d5du,0x3e0b3fd4u,0xbcd7d7e8u,
0xbd9372e7u,0x3cdcb9e9u,0xbcbf60eau,0xbd5bc8d0u,0xbd5fd179u,0x3da1de36u,0xbd83c11fu,0xbd4a3beau,
0xbe2b428au,0xbda4fb4du,0x3dca1b44u,0x3cd73b14u,0xbe103a42u,0xbca8f746u,0xbc0ae095u,0x3d86b4a6u,
0x3d6dc1d4u,0xbd5c0a9fu,0xbd7e6bebu,0xbe0fd4feu,0xbd9dbfb9u,0x3d62a16fu,0x3c7566b4u,0x3c2295adu,
0x3d4899c5u,0xbdf36f36u,0xbcabe43du,0x3b970fe3u,0x3b1ebefeu,0x3bfe3df6u,0xbd8a42ebu,0xbd1889b1u,
0xbbe5093eu,0x3d65d555u,0x3d7dfffau,0xbcd64c3eu,0xbc975740u,0xbd5efeadu,0xbd9fbaccu,0xbd141f5eu,
0x3d70a990u,0xbcbd4fa9u,0xbcba001du,0x3c59fd01u,0x3d18765cu,0xbc6506f8u,0xbd42f31au,0xbe0943b8u,
0xbdbe4af9u,0xbbf036f5u,0x3e401ab5u,0xbc9b4187u,0xbcbf517au,0xbd4c9670u,0xbce0238au,0x3dc763b3u,
0xbde99e27u,0x3d4ddb8cu,0x3d3664b8u,0x3d57feb6u,0xbd41771eu,0x3d4d047au,0xbc838b94u,0x3ce709f5u,
0x3b7e13e5u,0xbd7f33ceu,0xbd917435u,0xbd1490f2u,0xbcd01eadu,0x3ddbea6bu,0x3c579e68u,0xbbc25c1eu,
0xbd923e4eu,0xbdc8b991u,0x3de4708eu,0xbc77042cu,0xbcfdeb78u,0x3c98286fu,0xbdfe25d0u,0xbd8299aau,
0xbdef7caau,0x3d885012u,0x3d18220du,0xbc8312a3u,0x3e108e80u,0xbdc9c46eu,0xbdde576fu,0xbcbf61d7u,
0xbdf21169u,0x3d6ba225u,0x3c4ef939u,0x3cff3c90u,0xbba5b14du,0xbcc802f1u,0x3cb0e7aau,0x3c568ab6u,
0x3da66b63u,0x3d32d0adu,0x3d880fecu,0xbdd4d9f9u,0xbbc87335u,0xbd042d68u,0xbe1bfc1du,0x3dc11902u,
0xbcf83519u,0xbd387bd0u,0xbd59a818u,0xbc8440afu,0xbe07e252u,0xbda74620u,0x3c81be15u,0xbda654f6u,
0xbd37a227u,0xbe360e41u,0xbdf69e25u,0x3e02d90cu,0xbbda762cu,0xbd310924u,0xbd205fb6u,0x3e0dac1fu,
0xbcfd1b2eu,0xbdb598bau,0x3d6977cbu,0xbc0550d8u,0xbda98c9bu,0x3d791f8cu,0xbe1122cfu,0xbdb0b8dbu,
0x3d414a6bu,0xbb4de94du,0xbbe1029cu,0xbcf189a9u,0xbd3fb8c1u,0x3d043e29u,0x3cdaea87u,0x3daf17d2u,
0x3e022f43u,0x3cf8ca8fu,0xbc12cf0fu,0x3b30bdbcu,0xbd542360u,0xbd6d1e02u,0xbdc475f8u,0x3e027393u,
0x3e3a503bu,0x3d1c2c68u,0x3d5c593eu,0x3dc43d19u,0x3dd97109u,0xbd458c32u,0xbc83f10fu,0x3cec0589u,
0xbd6c1883u,0xbd1d2366u,0xba9e7d0cu,0xbe159d45u,0x3def7ebeu,0xbcac8a54u,0x3dd1f7f5u,0xbdaa049cu,
0x3cafe96bu,0x3e5dae07u,0xbc7db366u,0xbe3d99b9u,0x3d9a1149u,0x3c48621bu,0x3c0597d8u,0xbd9be615u,
0xbcd9e84fu,0x3d845bdcu,0xbc8c2520u,0xbca485d6u,0x3dc93087u,0xbe275788u,0x3d849815u,0x3cd4d40au,
0x3cfb26c2u,0xbc042967u,0xbc851340u,0xbd817754u,0xbd811f5eu,0x3c933437u,0xbdb59619u,0x3d72979fu,
0x3cc9932cu,0x3c0f9407u,0xbd45d796u,0x3dca810bu,0xbcf5a5c0u,0x3dc87569u,0x3dd98d7du,0xbcbd8f5fu,
0x3db81ea7u,0xbda3829bu,0xbdb1808cu,0xbe053a93u,0xbe049c3fu,0xbd290328u,0x3d4cfd2fu,0x3dae225du,
0x3d60334au,0xbd9421afu,0xbd230995u,0x3dc586eeu,0x3d4d6f95u,0x3da86810u,0xbb2704bcu,0x3c76c543u,
0xbda32bafu,0xbd024942u,0xbd817ac6u,0xbd824d14u,0xbd66f0f0u,0xbd583700u,0xbd4820aeu,0xbdad672du,
0xbc857776u,0xbb8ed134u,0x3cbba07au,0x3e3c7d20u,0xbddd0c35u,0xbd8b8851u,0xbc5d3ce6u,0x3dbb3381u,
0x3d4ba999u,0x3ccc9499u,0xbcf90c1bu,0xbc517132u,0x3db2ba7cu,0x3d5015b4u,0xbc63da0cu,0xbcbc867eu,
0xbd728f0au,0xbda10065u,0xbd95583cu,0x3cfe12dcu,0xbd90279bu,0x3d402e0du,0xbe488549u,0x3cac1248u,
0xbcc2d393u,0x3d58481fu,0xbd0fd937u,0xbda2920du,0x3dd7c2dbu,0x3cdd5b93u,0xbcdaad34u,0x3d3d0f42u,
0xbe308262u,0xbca8fe74u,0x3d917adfu,0xbc9fae62u,0x3e1b6aa6u,0xbb20b657u,0x3d67b4efu,0xbad1c7e0u,
0xbd5afa45u,0x3d2e7449u,0xbda42b4bu,0xbd24fca6u,0x3da967bcu,0xbdbc1a48u,0x3e086242u,0xbd837dc3u,
0x3d6a23c3u,0xbcce912au,0xbe48af80u,0xbd3b8623u,0x3a9e77f0u,0xbe02d7e6u,0x3d52f456u,0xbd756399u,
0x3d1c0cbau,0x3ea0a3b1u,0xbce9a642u,0xbd131b35u,0x3cb9af4du,0xbd7ae771u,0x3ceec68du,0xbdce0f8bu,
0xbd6acb98u,0xbdd3a04fu,0xbe02e071u,0x3ddb4beeu,0xbe110fe8u,0x3d211716u,0x3d989bf8u,0xbd2c57aau,
0x3cd2a475u,0xbdb57862u,0xbe0fdb92u,0xbd6229b0u,0xbe1452e6u,0x3d85d1c9u,0xbd8e1589u,0x3e2ed223u,
0xbd81c36bu,0x3d8d8b0du,0x3dbae63fu,0x3d2d7aceu,0x3d77ff5fu,0xbcbf8a5au,0x3bf20cd7u,0x3d1e4b66u,
0xbc13b107u,0x3cf906b9u,0x3dbc4fe7u,0xbddf46b7u,0x3e0f96dcu,0xbdc19560u,0xbdaa775du,0x3e3b1674u,
0x3e140333u,0xbd99ad4au,0xbd057f1du,0xbb69f0d5u,0xbc552085u,0xbcdcc8dbu,0x3d03a71du,0xbd2b2077u,
0xbc84df48u,0x3d13fe9cu,0x3de136d1u,0x3da04669u,0x3ced188cu,0xbd402742u,0xbd8b6e30u,0xbe47a8e5u,
0xbe545f41u,0xbe058073u,0xbce0fcd0u,0xbda3de5eu,0x3bcbe7e0u,0x3da04125u,0x3e03a44bu,0xbd5a6d7au,
0x3d99f42bu,0x3cb99f0cu,0xbd8b7313u,0x3d7ba970u,0xbd93ee9fu,0x3d0c7a31u,0x3dbc6292u,0x3d385a72u,
0xbba174f6u,0xbd0b2b08u,0xbdbd2b0cu,0x3db3ee14u,0xbc2b958eu,0x3c31ceb8u,0xbdf51c4au,0x3be7c05du,
0xbe29eaf2u,0x3db2f018u,0x3d4a4b45u,0xbd1659feu,0xbdfce1a8u,0x3e20c8bdu,0xbdd7c124u,0x3d2e0534u,
0x3e53a897u,0xbdcf906bu,0x3dc7e612u,0xbd42c90eu,0x3c56e238u,0x3de46028u,0xbdac1524u,0x3d82a023u,
0xbdc22adbu,0xbc8e06d0u,0x3d37958eu,0xbd0686b5u,0xbcd3bcb7u,0xbc5683f1u,0xbd97c1fbu,0xbaf7874au,
0x3c506322u,0xbdb6252cu,0xbe20cd0bu,0xbd2df8f7u,0xbd9ccf19u,0x3d6ca7a0u,0xbd0f1443u,0x3d9c67f5u,
0xbc261dbdu,0xbc1bbe8fu,0xbccaf1f9u,0xbd3f692bu,0x3df54a29u,0x3d34dd1cu,0x3d79a1b9u,0xbc77bd13u,
0x39d1a452u,0x3ddc0672u,0xbc1955a7u,0x3e0c9abdu,0xbdabf24bu,0x3d037d2du,0xbd4c3d7eu,0xbd1fbfe0u,
0x3d380912u,0xbe4bce8bu,0xbdbb5c75u,0xbe3fa6feu,0x3df3cf27u,0x3ce1f4aeu,0xbd9a2937u,0xbe05be20u,
0xbd622228u,0x3cf3cbbau,0x3cb04dfcu,0x3c9fd3cau,0xbc66b34au,0xbdb499a2u,0x3d794b9bu,0xbcd0e18au,
0xbd032e6au,0xbcec1405u,0xbd02b6a5u,0x3d6aee2bu,0x3cdc0cefu,0x3b85badeu,0xbe347b59u,0xbaad75d8u,
0x3dade82cu,0xbd0e42fcu,0x3ca52660u,0xbd41d90du,0x3ddacdc6u,0xbe483697u,0x3b97269eu,0xbd87d8c8u,
0xbc142894u,0xbceb0c0eu,0x3db18f83u,0xbde7da6fu,0xbd7f5a65u,0xbcf26276u,0xbd9509f3u,0xbdf453adu,
0x3dd4d84du,0xbd78df1au,0xbd0a8671u,0x39d6e8ffu,0xbd4569ecu,0xbe2d2cf7u,0x3de30cdau,0x3cd3d1c4u,
0x3d6ec4c2u,0xbc8d18cbu,0x3c3c75b4u,0xbd935ae2u,0x3d377dc5u,0x3d279d6du,0xbd285a94u,0xbb6bbe8fu,
0xbe686173u,0x3d922f08u,0xbd6a021eu,0xba614b05u,0x3d9c98cfu,0xbd93a0a6u,0xbe32c653u,0xbcbeb7edu,
0x3cddf11bu,0x3d4dce5au,0x3cd9c5e1u,0xbdc0894bu,0xbcb0233eu,0xbd9bddbau,0xba9ba404u,0x3da6c87cu,
0x3c2d5762u,0x3da32371u,0x3d6c75c3u,0x3d387305u,0x3d6db54cu,0xbdbe8cb7u,0xbceb6b8cu,0xbdb802deu,
} }
#else
{ {
{
"H\335\375<Q\042\033\274\376r\205=\203\236\031<\275\206F=\254\253V=\227\244\254=\034,\001=\314\256\331\275\300+\225<\274d\011<.3\023<2\017\261\273=k\134\275\344\233\337\274\260%\231<X}\016=\312r\355<\214\364\205=m\231\204<\364\234\353<\006O\235=j\2173\275F\245\260<\237!e<r\366\243=\025\011{=\327\373\007>\203\217\246\273\366qa=\0074\010=\260\245*\276\3271E<\265w-\276\271K\037>\005\004H=\004+\256\275\311h\276<=\362\221\275F\347a=\220\331\274\275\235\320\266\274]\321\244\275\206\035\316\275\006\357\217=\002\227\233\275>V\367\273\2019\344\275\315\3524\275\0778\217\275y\214\201\275\002HX\275\030f'>\354\202\017<3Gg<\226\001X\275\301\376\223=\3158\366\275\336\376\305;\267<\233\275Nl\214\274\311\0107\274ad\213\275\320\012\012\275\322\235\000=\211\235\253=W~g<!\372\216;\242cm=\017\035l\275\032\367\020=\210g\003\276b\355C\275\330 \312=4\241\006\276\300P\252=\346@O=w\207\307\271\310\010\363=\364\277A\275\366\314\220\275\264\241\021\275\260\370f\273\2029>\275\335(z=\202\361\352\275\256h\021>K\300\325\275\353\011\303=\371``\2763\354\337\274\312\006\233=\261\252\254=1m\006<b\213\254<\263`\372\274\312\021\216<H\307\263=N\347k\275M{\213\275\306\340\233<@\134\207=\264\340\237=\352Q\031>\213\371\245\275\330\263\036=Xn\331;\011\374\243\273Rky=\344\2318\274\213\365\010\274\2578\344=\351\300X=q\205\021\275\317\206t\276\002G\326\275\016\006*\276{_\226\274y>\212:^\375p= \301\364\274\227\021$=\024\214\200<!2\276=\001]\304\2748\370\007>\353\254\303\275\253\227\025=\030\013\214\275\340\273\251<\360\035\222={\225\376<\026\262\272\275\361\242B<\372a\212\275\335\011\213\275\336\236\225=\304\227\357\275\372U\310\274\3677G=\350[~\275q'\304=Xn\011>\262\364#\276J\031\015=>\314\317\275\027x\214\275\234\317*=\212\330(=\077\251I\275V\177\270\273\241#\230\275\005\273$\276\260o\241=\215so\274o\037-=\204\014\304=\231\373\347=W\244U\275\275\365\027\275\237\262\020\275c!<=\363H\240\273jR\020<\235UD\274\212T\201=P \007=,3e\275\357\347\010<m\030)\275\010xV\275da\243\273g\367\362<\214KP\275\344%6=\214\333\230<N\025\0179Ci\000\275\030\012\030\276\326\215\311=g\360b=\235\206\213=Mk\026\276\353\371\277\274\251\225\036>\005\201\241\275Cg\004;\024\004 \275\020\021N\275_\240\362\274\3161 =z2#\275\355\371\005=Ri\015\276\263\304$\274\305\253j\275\220\263\002\274P\333~;d\025\251;\213\205t=>\247#=a.\006\275\003\200\034=XE]\274\313\004/=\234)\364<\333\017>\275A\372c\275,\352\215\275\027\2228\275a\357\005\275\357\374\134\275\030\244\352\275\201\262\243=e\247-=\207\042\332<\2006\327<Yo\355;=\321L=\217gs=\356\357\271=\346v\267\275\256D\272:\231 \255=\013A\260=\033O[\276\241\016\312\275}B0\275\014|O>\214\034\306=\355\314\301\275\216\034\020\276\036m\265\275\303p\245=\177\317\201=\014\237\253\275\312\1779>b\217\005\275\042\260l\275\001\340\334\275\316\317\042=\264\001-\275\000Ly\275\245\327\276=U\374\006\275\275h\002\275\213P\200<g\260t=r\315\077=)\015\266\274d\134\246=\306\177\252\274\340\250\003:\230~\203\274-\253\201<g\203\256\275\033\247\226=C\334\361\274\230\217b=\205O\011\276\262:\000<,+\315\275\350\030\373=L\240\223<\021\271p\274\261'Z=\253\200g\275\321\0372\275\215{_\275d\262\247\275\273W\264=\344\204\233\275N\241k>l\277d\274\354$=\273T\355\037>\301p!<\353K\313\275\320\347\314\275,|\337=\214\201X\273\265\251[\275L\336\260\274~y\217; \001%\274\243\042\351<)\027\077\2731A\235\275\275g\350\273\336\250k\275\0176W=\316\177\373\275\365\005\023=\241h\202=L:\016=)\254\021\273\271\244\244=\033\365\271=|K\025\276\356\377b<\233\277\257\274sB\012\275$9\313\275\267_\237\27302\023\276g\345u\2743\077\003=k6\214\276\355o;>\014\352\011=\224\362-\275\255DY\274\333u\134\275\306;l=2/\020\276\320W\250<\377O\316=t\177\020\276v\303(=\005\177\015\274\031iX\275\337TP\276\264\312+=\320\251\037=Di\004<&\354\251\274U\267\206\275\314\332\234=\224t\351\275HB\031=p\025\243=\223-\273\275\023\177U=x\331\242=\222\320\326\274\356\231M\275T\233\246\274\323\005\034=S\021\024\275!\375 \276p|\355\273\374*\316;\325\3361\275r\025\346\274\207\263\277\275\2034n>mY7=\017\377\317=k\257\226\275N\000.\2762\312\024>N\300o\276@\031(\276`\237\030=.X\330\275\265+A>\200\3644>,0\013\276\337M\335=\2315\331\275\077\344\310\275\206\335\235\275<v\360<\014o\366;NRS\274\342\311\337=\343.*\275\301-\315\274\370@\002>\006\012\371\274AKL<\257\267\013=\275\0010\274\366\352\266\275n\257\206=\355A\311\275\300d\355\275\003R\272=\365\325O\2754\315k\275/\377I\275r\360\343\275\226\021\012\276\344\315\322\275\322G\211=[!\314\275\364\300\201\273[\304\021=\327N\377=\245%\212=\214\356\233\275A\210\266</\027W=\303\341\317<\362wB=\342\316\275\274v[\336\275\313\223\326\274\305/\006>\000\015Q\276\252*\337\275xe+\276\213N\261\275\347\365\302<\317\330\270\274\343 X<P\271\366\275\226\330\260\275\003\366\221\275U\026\273=Pte\275\036\352\024=6\343\003\275Jb\015>N\236=\275SD6\275\021\306\315<@^\014>g\351\231;:\177\022\275R\213\300;@\224I;\014n2\276H\015\344=\007s\010>\017\340,\274\251]q=\221y\301=+\332\322\275\344\363\356=V\244\342\272\023\002>\276\207\2646>\200r\372\275\014\373\374=]C\371\275\263N.\275\233\211X=\252\342\216=+&\356<\222\337a\275\254\334o;\340\023A=\365T\266<\322\374\246;\360\323\300<w[/=\301\042_\275\016~\326\274\342\010K\272\230\233\275=\011\222\307= \272\221\275(G8\275\326#<=)\341\271\272>\206d\275\036L\202\273\027\350|;,\335r=\021\223L\274\2333\0228s\011\252=\345\353.=H|\204\275\037cE=\005C\003\275\215Z\225\2757\366\016\2755&\343\274Tt\211\275\346g\265=\221\206\316=u\077\035\276\042\223\346<\203C\032\275\312\276\245\275\327^L<\251\272\272\275`\212\333<\212\134\033:\322}\217\275\320\232\201:\211\003\000>g\324>\273 ]\335\274\367\377\211\275M!\300;\377u\213\274\331C\242\275\212\230\315\275K\262\270\275R\226)=\366\015\002\275i\271\236\274\361\311\340=\371N\022\273ub\004:\365\360\027\275#\273\211=",
"\220\242\245\275sW#\275\254\234\226=7\247\014>o 4=\015\2453=v\314\240\275\225\331\015>n\314\306= \203\025\275<D\344=\025l\250\275\357\134\224\275E\323<=\230\374\253\275\255\234\202\274\027\025]\275\332M\3039@\010e=\263\314/=\277\016\272<\356\305\134=\236\021\263\274\330(x<\031\042\343<\034N\314\275\264\227{\2750\323\313\275\210I\000=n\321\010=Fn\224=_8f<\232\031t=\233I\007\276\265e\003\276\301\266\364=\330}l=V\334\251\274\201*8<\001\034\020\275\272\010\032\276\245\206\213=\324\016\014>\3425;=\373\003S=\263\373\262=\201\357Q\276\342\243\250=T0\240=\230w\037\275\355\246\252\275c\214\262;\324Kp\275\007\343\036\275\232\341\362=\244\013~=\013C\210\274\335\324U=\2505X\276\371\334\345=XPl\275\035\257\240=\324s\361<a\372\354\274B\027'\275Q\2328\275l\212\020\275y|C\275ly\366\275\307\011\325\275\003E0>\373\021\250=(\007\203<\210R\011\275\263\324\212:\250\221\343=\345\031\300\274f\314*\275\077\357\362\275\306\353\205=0}\347\273\230\326\205=\257\134\275\2756\177\015\276{\312\236\274\274G\225=\011\204`\275\003\3402\27618H\275\301$>=6\207\357<\2709\314\275\206\270}=\030{,=\247\250\310=\237\345\246\275)\213\372<\264=\367<\365c\301<\322sw=\341U\015<\234\315\320\2751 \225\275\251F\342\275\134>\021=\301\220H\276E\253\267\275r\224\377\275$\3340=\213\237\336\274\336\264\245;\325\020<>\375\014p\275l\327\033\275xuS=\307\257\023=\036\022e\2756\313*>\011\241\014\275\340%\001\275\235\032(\275\343\265\272=+\227Q\276z\011\036=\254\023\0119\225I~\275\212\306\202\275\004.\326\275\033*\020\276\364\013\245\275\016\364q\275\335)\242\274\342\212\247<^\036\006=\077x\304=\365\311F<x\365\227=\333\003\304\275\255\304\242=\2618\246\275\320\265\377\273\211\341\266\273y\324f=n]\312\274\350X\205\275+\330\215=\305\327\026<\134e7\275\211{\371\274\206\273\000\275\376\007#\275\245\211\277=\022U\364\275\021\134\204\275\341\234\273\273P\311\226=\002q\221=RN\210\273\312\344\213=\273\347 =\032v:\276\261gK=\000\217\000\276m\024\210\275\231\370~=\265{\232<\213\315\251=\016\355E\275\377\314\030\2757\264/\273\220\011B=\2254\227=\240n}=f\340\036\275\365\025\251\274A,b\271\236\215\027=\356|H=\312\324Y=\030)t=\261\042\207\275\264)\015>\013\277\327\272s\204\243\275\332\360\211;,`t<\241\353\347=\253\370\241\275WHD=\232\030W\275v\015\211\2750m\224<\0125\260\275G\252w\275=^l=\226\323\260\2749S\344<\355\263\024>\206\003\330\275x\3265\275B\326\272\275\224\275\243=R3\223\275q\277\253\273J\355\254\274A\322\311<\302\250\356=\370\255\204=nw\016\274\242\250\012\276\324C\002\275j\236\230\275G\301\212=\314\303\042\273\030\301\261<N\022\014\275%\270\302<\342\330\033={\023\207\272\300\226\004;\277\005=\274Br}<\233x\013\275\303cV=\033\233\276<\216x\326\274\370\225\367:\307\2619;\326qu\274\024$D=\211Z\311=~\003\006=\362\360\227=\201\205\344\275\277\375\274\274\327\326\273\271\355\313m=d\337\034\275\211\276\310=u\006\247\275\235\000c;|#\026>\202\365\304=\225~\240\275\006\271,=<\355\354\275Y\003'>\256^ \276^M\252\274&W\134\275\341,\212=\257\205\251<L8\026=\231dP=\352\310/\275:\322\247\275\240\211\314=\231\315\313<\004\367\334<\357(u\275/\262\257\275\273u\214<;_)=\377\361>>\333\373(\275Q\025y\275oZ&\275\341\301\303=YfE<X\352\246\2752~\372\274p\251\303\275\006Y\275=\021\211\270<\303\012\015=\360\222\203=\032$\254:\234\374\226\275\021\365\203\274s\252\257\273\313\317\021\275Q\304\237=\254G'\275<;k\275 >\243<\213\226\313\275G%3\275=\224\015\276\262\134\365;\330\245\000\275\223\302\242\275\017\323C\275W\336*=\030\024\377= \177\231\275\324W\261=i\220\374=\0346\026\276\214\373\237=\320\023\272;\3770\373;\373A\232\275w\134\010>\211\022\240=8\207\371<\216\265\354\275\223\212r\276+c\014\274#\272]\275\036wJ>\2159y=e\027\345\2740\301\350\272\033\314\351\275\247\3051=X\006\203<2\231\303:\351\216z\275I$\216\272\375`2\275\200\314,\273\001<\014\2759\310+=\021\011\237=\212o\375\2742\311E\276\326\276\264\275 u\202<\362\337\274\274\307\211[>\311J\011\275Nm\027\275\016n =\312\000\311=\216\312\337\275\236\312\246\275\272\003\264\275X\217\302=\244\237\266=\345g\252=\351\027\243<\077\370F=\246\316\313\275O\036\261=5\304%:\343~\200=V\302\254\275\245#D=4lc\273 q\223=\254&d;\204/r=\021By\276\365\267\035\276z\267\336=;\270@=3/\212<P\010\314\275\305x9> e\316=\372\211q<\301-\243=I\301\326=\267v+=l_S\275\017\346\011\276)jp=\375\255\304=\363\207N\274]\342\035=S%\265<\352\363\337<,3\334<X\001\250\275\037y\030>w\010\217\274i\314\033\276\253\206O\275aL\016><\244\321=\222\031 \275\342\224c\275\240hi=f\215\271=GD\274=\302U\345=V\272\000<\020\027\366\274\334:\233\274n\000i\275\032l9>\003\3409\274\375\264\353\273\224\003\331\275E\3111\275\342>\002\276y\356\036=\311\237\251<\247}\243=\334rJ\276t\015\227\275\332Z\017\275:t8\275\314^\251= D\254=\374\265S\273\213\305\212=\001@}<\301\356\006=\217M\334\275R\225g\274\220\347\266\275NF\017\275\340D\266=q)\031=\235s\011>\260\200\330<\347\342\024>U\246\321\275\024@\004\275\364/\247<\363h\230\275\237\225<\275Y\324\255=v\232\210\275lF\262\2754\015\304\275\303\231\362\275\227\277\026\276/\022\315=A]\277;\332e\013=\357\012\346<g\351\020<\023\214\236\275\266\270f=\034\014N=\010\240\340\274l\013\275=\2217b\275!\232\241=\221p\244==\377\362\274\243\313Z=O\307\277\274\302\335\027\275q\335\204=\324\020\266\275\315\2410\275i\037\274<\351y\322=ch\220=\345\317\237\274=u\263=\246g\021\275\315\227\316\274\347\022\242<\224\024\250\275\226\242\010>I\267\206;M\341\274=\000\336d\275\322\340(\276\356\324\311\273\273\335\234\275A\203\350=u\2725\275\375A\365<\326\335\251\275\363\244i=\242\3038\274\212Y*>Q8]\275\210\276\341\275h\015\226\275\2042\244<\243\2044\275\207~\022<\267\215\343;\3101K=\006\013d\275\342~-\274*G)\275\255\2736\274\356\256\203\274H&y\275i\3334\276*\317\255=V\021\030\275AR\245=O;\005>y\001\224\276^\365\321=\227\234\006\275\203\037\325<U\313\354;\031\034G\276\302\312<\275\015%\204<W\314\036>",
"Bx\077\275\077\261 =\353\042\347\275\333\267\225\275F6\305:\236\0052\275\332;\077=\271\241\254\275\353\316\250=\233\023k\275\216\204\007\276\263\313\264=\331\361\232\275\353\351\210\275\3667\253=\002\202\223\275\231$O=\211\306\236<\030\235\253=\212\370\327=\312\251\001>\366\326E\275\344\212A=t\027\012<[\032\254\275T\363\355\275\340\260N<\206\007\030\275Km3=\021&\002>R\003\021>\234 H\276\013w\006\276\006\003J\275\024=\355=\262\223#>\311<\356=wX\211>\011.7\276\006Y>\276\323\374\276\275>\354\001\275yl\013<K\324N\276S\323k\275e\323:\275\017o\200=\377\034\246\273\2534t=\235\356\013\275\0359j\275,(\257<M;\236=\263~\077\274m\377W\273\177\024^\275\3354<\276\332\276\360<\254\337\231\273\272\344T\275G\264g<\372)\274\275\262\246F\274ys\207=lL\271\275\254\302\017\275\245\245\301<\211\025\206\275\356\307\331:\212\313\256=)\036\212\275>\277d\275~\354\312\275\244\037\007=\244rk\274\031\243\246=;\264\300<\354\277{=\365\211\227<\202Z\023\276\177\345\270=\214&\230\274V\374w=\242{\375=/\000\013\275\255\002\347\275\254s\302=j\306\332<*$ ;q\134\374\274l\015\005\275\332\035\201=\011B\341\274\317c/>\235:\202<\212Z6\275\001C\222\275\001\305\332\275aq\013<\304\005\006\275u\306\042=\320\027\370\275A\251)\276\206\032Z\275\205\030\007\276\207b\371\275\243\342\344=\365\016\031\276\011\220\222\274!!\251<\262\313\001\276\002\307i=\231\266\366=\025\345C\276Ix\243\276\363\355\265\276\203/m\275\254\026S\276\355\275\246\275\242f0\276X-C=\207g\013\274\253-\032=-\363\265<\310gb=6\322\276\275`z\012>\342F^;\276\331]\275\257\222m\2741\002\263\274\017\314\225=K\265\202\274CA\212\275\234\265^\275u\212\016\276\002t\223\275\033&\223=\360h\346\273I+9\275\015\042\207=\255\264\224=Gr^=\320\260\223\275E\353\246\275\200\005.\2763\177\210\275%e\016\274yIf\273\014#\375<hC\277\275v}\355<p\311U\274\250*\017>\272P{\275\2741\312=C\320\210\275vq\234=! \354=t\321A;Jn&=;\366Z\275\330\256\352<\134\365\217\275z\215\237\275\232\351\222\273\243\366_\274\333\014\311=\315\021\224\275\213\234\325\275dj\012\276\305\200\077;\264\042\025\276@\032M\275\304\371\274\275\255L\237\275\033\275\340\273\301a\246<\251~\331<\012\264\236\275%\036\005=\354\263\201=\200/%<\016\210o<\362\252*=r\237%\276J\306\013=\352\360!\275og,\275\233\273\233\274\230\311\227=\352W\006<\346\257\312\275\327\224\253=\033\261-\2743rN\274\000\302\014\275\370\0024\275-\212\016\276V\0073=\241\323j=\372Sj<\361\362\351=\310;/\270-\306J\275\233\374\353=\027\320\016>\225\016\273<\352@\321\275\034\277\022\275\217\227\217\275\023#\304=!\217\021<\260n\025=\230\254\221\275\230\262\305\272\024\013\004\275\340\223T\276\000@\333\275\350\262Q=\325\356\306<fN\326<\305Q\321=\333\360,\275\233\342\012\276>s\244=\177C\303;\234\335\272<\361\022\036\276K\243\336\274\370\357\374\275\350\205\237<\314p\337=\210 G\276]u\012\275\343\014K\272el\276=-\3424\276\230\023\200\275\273\201m='\330.=6T\343=\352\302G\275bT\310=%\012p=|\242]=\032 \301=a\232\367\275\211N\007>\2342c\274\346L\304\2743\000\351\275j\322\357\275\017\002E\274\034|\275\274\313\242\244\275-\313\224=z\243n\275Q\274F=\374v\311\275\274\353\021=\212=\213=\177\035\251\274\230}*\276Z\224W\274\265\216\235\275\227\221\227=\032aB\274\327M\327=G\366\254=\272B><\034W\274<\037\231\371<\260\266u\275&\212\355\274v\342\215\2747/\311\275L\261\257\275\202\243\027\275ldo=\236\245\017\275\301\0207=\035\366\234\275\316R\016\276\246\316\370\273\274\263\364\274\030@\251\274\032O\012\276\253<\241\275\220\220\017=\177\264\000\276\253*x=rS\350\275\212\255c=J\311\366=\212A\332\275!b7\275\016\357\206\275RB\210\2756B\213=\275V\013\274\254\203\010\2768\005{=|\216\211=K\376K\275\375\012_=\313\322\200\2747Z\342=\326g\376\275\264g\351\275uy\261\275\356\004\360<q`\013\276\273\3534>\326\223\300\275\306\033\374=\231\370\333<K\004l\274\370C\222=,\345\230\275dm\304;\244!\222\275M\303\215\275,\356\353\275\274\320R=+\340\006\276ni\011>\346\023\200=\311\344\035\275\222(\023\276#w`> \017\235;\361i\241\274+\206\273=\212\351\254\275\231\025\275<\002gi\276\302\331\213=c\234\310\274\324'\227\276\010B\211\276\022\212\370\275Z6N>\236\223a=e\246\266\274\201\375_\274\337\312=\275\012c\254<\204z{;f\340~\275\313\367\221=\221\304!\276\376\240\000=s4L\273\003\266\004>9k\315\275\245\3340\276\244\244\305<N\077\321=\326\362\370=RF\034\276!\320y\275\201i2=Q\313\277<\366\270\253=\371\374\032=+o\255\275cm\010\275PAC=\0129\375<Cd\252=[\322D=\200e-<\373c\220=L\331\316\275\356\033\010<)Kf\275\225d\235\275,\232\200\27616\317\275e\017\014\275\300\355\020>$\024\356\275\134-\215\275\360^\204=0\266\314=\006\363\004\275\273\037\232\275O\224\270\275\244B\304=xA\003>@\351\364\275!wt\275F \021\276< \331;d\022\221\275\2645\007\274Z\337\344=\266\201\031<\216>\300\275x<\007=\336\306\363<\275h\207=:\306\247=U\031\316\275\215\221A=\260\242\006>3\226\373=\0346\223=\343J\212=.\204\360\274\271E\207>b\035\023\276\035\001G\275~hF\276\225}\300\275\002\272\332\274\303\016D\274\023\352t\276\362\274\246<I\271%\275\267\324\006>\324I\225\275up]\275\252m\342<m\200\363<;\313)\276\364\007\003\276$\077^<\177d\177\274X\205#=\374\306\007\276\304\014\247=\217\345\367=\252\243\307\275\240\234\274:\211\327\356<\0250\321\275\341\331>=\245\317\035\274\235\004\262:\254\0179>=\327\264\275>H\365\275\247\320w\275+\326\322\274\323\331\247\275\225\221J\274\016J\315\275\355\300\375\275U\325g\2767Zi<\252YB\276\307z\042\276j\364T=\373\324\216=\020=\030\276\340`\252\276\362r\025>_\244\014>\013\042\205\275\311\210I=A\377\226\275\301\270\342<\006q\275\274\272\211\042\276\032\362(\274\016b\205=\2679t\275\204M+>sN\252=t\373$=z`\206\275\215\004 \274\200\007\221<[L\005\275\317\324:\275`\307\354<\204*\211=\020%}=G\266\333\275\262\014i\274\007[\015>\032\350O=qn\030=7\330\211\275\323B2\274\337X\230\275\240L\023\275\012\013\224\276`\316\270=~+\264\275<\343.\276<\3338\276\216Z\200=q\252\311<\334\017\313\273\300\026\216\275\334K\330\272h\235\032:",
"\224\304\015\276\030\012\324=\3566\202='5>=\255y6>\310\302\352\275\177M\352=\232\360\020\276\2364\344\274\341*\327\2755[\002=N\204\024<\013O\007=\202`\255=[\032M=n=y\274]^\227\273P\374;=S\331q;\322\030\322=\371h\335\275:\362\207=\310\035\314\275\247<->\246\317\252\275j\036\344\275ay\022\276\353BI\273\256t)\276\266\333N\275\341\224\272=\004\325\000\2750\335~\275\016\027T\275\024\020\220\275\206j+=.\314\214=_\365_\274\315\312P\276\347\317[\275{5\003=\220\202\037<\030<\233>X{\272<%k\321\275\015\077\207\275m\335\360\274\304\333\204\276\035\265\000\274\361\016\024\276\326,\221\274 \077\015\275\215\0152<\031$\026=\323K\330\274\177\232\230\275\201\236\213\274Bh_\275\311}\034=-\003\311<\015\351i=4\275q=-\210\340\274\003Z+=\365j\215\274\260\203\265=u\224\243\275q(\352=\234\261\012=\302\014\221=\000*g=\020\337\243:B3\247\275\264)t\276^_\035\276\370\032\264\275_H\371<\333\317\017<\222E\024>\241\332V\274\201\325\217\274(a&=\366H\015\276R\214\326=\336k\372=\245y\021=\274T-\276\022\222\327=}\305@\275\353\236\001\276+\005x=\273\022\240=\377]\300\275\207i\264<\313,\324\273\003\320\342=4\207\236\274\374o\267\275z\027\303\275\312m7\275\035W'\276\331\022\033\273\344\364\303=\336\001\333\274\267\335\033\276\223\274T=\005C \276\362vO=\356\354z\27531\262=+\343\337\271\232\201\077\275\233M\223=a\077==\3450\004=\246y/\274\312\314q=\330\370\203<Y@\211=a\235\262\274F\2259=\300s\313=K\315\312=\2342\322=\264\323\251\275i@\022\275w>/\275\267\267\366=\215C\214<Z\276<\275\304\027\215\275\311\001\322\275\015\034@<}&6>-\346\021=r\272\007>[KI\275C\235t=f3\034>\253\237!\275d\362\305<V\227_\275)DD\2750^,\274\023\245\007<\276\211\317<;d\010\275,V\265\275\252\213\004=\322\302\337=\013\367\005=\226\3309\275d`\352\275\341\274\014<\361\377\333\273C\252\236:ip\006>Y~\317\274\202O\332=\0107\375<mJ\022\275\077x\003>I\364$=\333y\302\275L\341\205\275\205\304~<\244\375X\276l\2276\271A\377\224=\353\270\230=\277\363\032>\333\3409\275\337\177\015=\335\242F\276\241\226\215=2t\007\276\317\227\024\276\345\355\205=\036H\274=\260T`\275d\2555>S\304\217=\373\220;\276tl\201\2748=]=C\015n\275e \330=\007\367\211<\226\252\320=\217h\010=\370\016l\275.\325\301\275\225V6\275\213|\302\273#\243>=\0221\211\2759\266\223=\354\003Q=\340t$=\353\3435=\362\001n<09\316<\2452\214=:\2113=\011\331\327=#\335[=\300&8=\023\013\240=K\232\027=\027\004\237\275\251\247\302<\006\353V\276K\270\306\275\253#Q\275\353\370\023>K\3331\275\377d\302\274\211\222\016=X\316j<S!\337\275\037\042\077=\266ah\275\342\034\077=mq\235=\324\336\033\275E\262\243\275\274\317\267=BP\310<^\007\272\274L=\244\275~m\302\274K\335\205=\232\304\237=7\372\223\275\371~\310;\252\264Y\275\011\355\042\275\222Z\204=\002\313,\275\251f\226\275N\214_=\307\361\335=\357\032d=\023\320[=\023J*;7\317\037\275\016\216\025\274\251 \254\275~fN\275\273iY<,\026\012\275\217x\337=@\177L\274<\242J\275\033\021\345\275\246d\311\275\023F\027\274\317{\232\275\355\3739=C\347\002\275N)\351\275Z\214j>\030Q.=\375.X=Se\336\2756\206)\276\244PX\275\22142\275`\237\200\276\334\335\077\275\3714\331=\212\336\333\273\230r\004>\231L\251\275\235!8\276\316\261R<\304\350\211\275\2324\344=\275\373N\276q\222\036\275R\366}=q\246\316\275\273\0159\275\322\336\232=\330\237p\276Z\266F>\260\014\222=\004\205\256=qy\220=\224&\220\275\206\234\273\274Y\341\264\275\374\302i\274),\253<r\310\032\276\336\0253>\214\240X\274{\242Z=\034*\235=\266$\232\275\327C\006\276\012\251\224<\033.\036>\037\350b>\370\023\015\276\204\251\200;\035\000\231\275\020\317l=&\011\261\2753u\205=\3115\377\275\031\245\362\275\240\2471\276\263\006\276\275\376X1=\304+\246=cB\242\275`qo\276\344\234J\274\007_\032>j\014\325\276\276*\030<[x\364\275\005\330\011\275Q\372\134\276 HD>\227sT>XsT\275\331q\333\275x\310U=J^a\275\333f\025\275\330H\316<\333x\200\274\001\315v=\305\205\244=\260W\231\275\004\324\316=\303\337\042\275\250N\264=\360\212\027\276v\231\263\274\256a\351\275\033@:\2768\311\251=G\333\266=S\021\000\276\206\211D=\027\004\205\275N\377\006>F\320\247<\245\261\013\276\212\344\257=\202\042\134>\006$\227=\316\350\007\276 }g\275@A\327<\376\264\366<M\300a<I\230\262\272\324~v\276^4\303=!\220'\275\200d\224=F\230[\275\277\271\001\276\213A\255<,\352e=\021\306\016\276O&\275\274u4:\276I\177\222\27516\337=\261\223%>\241*\220>\221.o\2757\244\211=\311cp=Uj\326\2751r\311=\032*\002\275x\200\177\275\377\206\257<V\223\260=1\077\365\275\266$\223=\213\357%\275qC\301<q\336\244\275(\221\254\273\346\227\301\275\213\361\351\273\306\255'>\035\277\134\276\312\206\024=\260\200\007\276;\3622\275\265/I>n\373\032>\005\347\256\275\210N\246<G\236W>\266P\012\276\305\213{\275r\203v\274\236k\262\27437i\275\367!\035=~\200\002\275G\365\374<\1779\330=\021\241\265=\341\262\360<K\202\004\276j\362\233\275\333\337\026=\0058\034\276B\317\033=\032\373\265\275\032\273\202=\352A\012\276\331U\341\274Tf\012=\237A\247=Yf\003>\370z2\276E\233\005\274\256\001\263<\004P\013>\002\357#<\267\245K\275\042\266\315\275\367\305\233=M\276F<nP\042\276\226\323E=~\232\251\275\017b\220=\304\257\016\276\013\345\217\274\027\177\265=\220o\003>5L\306\275i\002\247<z\004q\2756\006\353<\004\305\310\275\352\273@=\256\002\266\273\003\227\224=WS\245\275\324\0102>\007\355\332=\206\357\204=\370\335t\273\245:(\275,t\030\274\210\366\335=\0212\012<\006\011\266=k\023\006\276\254\270;\275q\372\263<\247\350\245\275\017\134\345=<S\271=u\300\035\275\271\032\351\275\224\301\303\275~\2456>\017i0>!\017p<\254E\240=zu\224\274B[\004\276\203U\254=\372\3753\275\370\216\375\275\220\031\310\274\341\0155\276\2576>\275\361\204\333\275L\010,\276\357\250\243\275\262X\305\275M\254\216=\001M\307=<\236\327=\375x\334\274*\301:\276H\214\266\273\205Z\376\275\356|\205\276\020\2753>rz\320=\326\031 \275\035\005\013>!\304\203\275n\3034\276",
"!B\361=\034b\002\275\221\231~=\222=\202\276fiB<\034A<\276\333~w\274\3249\216<\374\012P\274T\257\003=\303{\265\2735\226(=\004\263\022>Z\370\002\275\1774\035>-\003\303<\356\224\226\275$-u\274\321\312;\275`y\200=c\361\227=/\333\250=\244\326\257=\0331\217\275\307v\310\273=\361n=\256D\027\275H\311\245\274\270\314\376\275\352e;\275\217o\357\274\323\243n\276\212rP=S\015#=V\234\347\275\277\251\245=\355\337Z=G|\264=UZ0\274H\354\005\276\027\316\266<C\336\307\275\026a\345\275av\042\275\024z\331\275\077\321G=\026\2511=\034\034\344\275\013\016\016=\311\216\313\275\202\201\356<\310\221\230<L\334]\275\365\027\210=\022\303\222\275o\203\336\275\020C\025\276\247\350\206=\363\324\011\275\200\215\253=\017\037\206=\27371\274FeQ\274\222F\377=\336\003\322\275\361\206.>&\375\325==}\016\276V$\213\275\342\312\201=\3260\323\274\245\376\302=\344\266@>\323\011\016\276\202\262\234\276\251\367a\275\024-\206\275\356(\177\276q\310\317\275\274\244M\275\023#:=\024\310\347\275\2275\353=\361\2034\273\237\344\361\274'\314\011\273\247\333\306\275\324\211\334\275\303\331<<\275I&\2758\264\341=\315\025\237\271\023\326/=\244\223!\276z,\365<h\301N\275E\016\004\275\015\373%\2759\042U\275\230\210K<x\216J\275 \314|=U\315O\275\306\242\265\274\366\255\256\275\022$r\274\013\334\315\275\256\000\237\274I\252&\276\240[L\274\330g\256\275\351\336\237\275K\030|<|\364\042<\201\227T\275T\216Q<(\027\272\275\200\353\353\275\202G\225;\315z\321\2725\327V=j-\262\275\214\220\301\275\3400\004\276\020(\233=\363d\272=\343\223\202\275\013\031}\275\014\134\325<Q\030\254=\345d\244\275oqp=\270\226\326\275\246\256\027>\341\207\332<\030\346\331\275\327\244D=\352\247\240;\364\202{=\024\025\327;\024OM=\344\017\000\275\241gE=N\376+\276pR\302\275Z\334\035=\325\365\353\275H\010\251=\245/\372<\270G\021>\236CV=^\321:\276Q_\006\276\244JQ;\247N\245<\177\312\214\274}\006\216=\320\027:=W\225\211;a%@\27514\350=\350nV=\353.\305<\340\300\342\275\031\255\337=\307T\273=\000L\372=\001\002\211\275\265b\227\275\201zO\276L{J\275\254\007\263<\134\343v=p\343\243;{\354\206\274_^z\275\211\003}<\300U\015\2757\337\217\275;\320\031<\273\242\313\274C\200\012\2765\263\017\276\327x`=\011\310W\274\303\216\314;\234(\200=R\372\271=\301e\134\274\321\340\257\274\353\325\225<pA$\276\002#p\275\032\271\251\275/\367^\275RN\234\272W(\310=>\254\216;Sk\376\274\371)\240\275r\276\235\275z9e=\257\231\003\275\015\362\356\275\012w$=\276\002\013\276\207\242L=;\245\023\276N\274\275=X\017\206\275\302R\343\275ItK<\211g\313=\323\005\017=\006\3240<Mp\201\274\077\316\012\275\330n\256\274\354\350\260=\325n\212\275_&\230\275\221\272V\274\332\322\235<\326\220e=\361\015\214\275*\320k\275Rs\025>\225\265\334\275\300h\270\275s'\330\274!C\253\275\216D<=k\007\264=\2279\206=q\243&\275\360\215R\275\134\005\002>@\320\032\275\332\247\032\275e\011\351=\334%\201\276~\361\025>k\2053>\367\242\270\276n\266\037>%\015j=\362\254$\276\3426\031\275\134gi\276\246t\351\276^\277_\276g\254\006=8\004\211\275)X'\276\003\355\042>\353%\222=\012NO=\327\322-\273\011Y;\276\236\251\262\276\325t\012\276w\343\204\275\360\300\303\275\242\346.\275B\215\204<\231\2176>\375\007-\275\342H\225\275\020\246\023\275\306\374[\2761Z9\276\021\032\341\275`\262%\2767\245\302\273]\347[<\217\346x>\3168)<\006k\337\274\036\003\027\276b\361x\276\273\275\231\275\016\231\267=\013\325\134<\002\217\025>\223\372u\275\227X\265\275My\255\274\202SM\274\234\347\300\2760\227\366\275\002\016#\274\003\2742\276\375x\236=y\215)>5\011\002>\3756q\276W\224\240=\206\206\255;Mn\337\275\363QE\276\013\234\301=\325\237*\276\314'\251=;82>\360\375a\274\355\341\003\276\276\371\005\275\354\367\316;#\042\235=\367\035\233=\312w\261\275U'\325\275\306\037\002=\344Fv=\320\370\377\275\246:z=\322W\212=E\323\267\275\207p3>\250\327\263<~\012\323<^Zr>\026-v\275l\337\315\275\220\253`\275\013\305\316=`\336\354\275T\234\210>\266\313\035\276\2035\272\276A\327x=\276\222\263<\306i\077>\250\016\000\276L\244K<k\026}<\370\244E\276\365\3759>\367)|\2752\343d\274\212\336\345\275}\245\347\275\010\317!>I\177{\276[/\331=\010y\201\276X\326R\275\212\337/=\263\311\205\275\337\360P>m\011\254<\260&=\275\350g;<c\224,\276z\322\306=\370\323W;\243\360\001\276;\0161>\360`x\276o\207#\276\022&\226\275\302\363\200\273\214\033\271\274\134\314\263\275(x\351\275\036\205D\276y(\203\274y\216&\2753\304\245>\017=\234\273\277\360\223\275xl\360\274\310\340\230;\255\253\372<\347a\211:$\024\032>\352W\014\276H\313\330<F\2126\276\233\035$=\201@ =\203#K\276\274\302\031\276\351\227\246=}\324\321\275\030\256\015=Kn\266=\325\377\323\275\373\363/\275\206\332\334=\212Y\311\275\346\042\177\274\335^\000\2741\245\200\275\012%\037\275\216\204\221\275\321n\020>\362~\341\275KA\367=Z\017I\275\353\217\007\274\266<\014>W\3267\276\000w&\276BQf=6Q\014\2759\365N\274\216W'\2730\343\244\275\375~\214\275Y\214#\276k{r\275\345m\275\274m\001\023>'\310\347<\377\274\244\275V\362\022\275**\213\275f\263\204=\037\332~\275\336\032\010\276\000gy\276\332\207\000\276\337\220\264\275\013\324\346=\337\230!<\245D$\274\360\343\312\273\276(\201=\275\252\015\276\001\236\201\274\0323\364<\323\304\202<p\311\320\275\363H\215<\031\134\212>\023\177\310\275\243\003|\275\330\362\224\276\302\2755\275\200\311\252\275+\036\037\276]0\222=VO=>\222Fu\275\007\252\323;g\2307\2765\002\263\275w3k=w]\026\276\020\342\311\273\265\203a\276\241\020\007\275\341\000(>\320\321,=)\230\015\275 %\320\275\000`\265=\210u\331\275\371\031\313\275\204\377\361\274\202.q\2764\314\233=e\300u>7\372g\276J&\317=\305\336\302\275\265\204\317=\354\333t=\324\334\250\275\202a\014\275\215\365#\276\216\236+;\243\3577\274\235\134\256;\216\255\205\275\027\000\017=\340z\012<\215\077A>D\341\224\273\250\037\003\276\244\025\272\275lS->\336\134);L}\324;\356Q0\275\205\320\230\276B\2274\274\276\252\007\275\321\004\326=\232\265\330\275<\371=\276\353:\342;\004\033\321\274\233\225N\275\351\027z\274k\220\231\275\263\240==ih\022>\022\371\267=",
"\032\007\3529\360=$\276\363/3=\373\035\312\275\212\334\256\275\027f\035\276z'#\276\3732\251<=\200S\276w\177D>\007\303\001\276>\0022<]\005*\275\017\011\243=\016e\025\274\025\024\220=\357\345*\276q\311\247<,j|<\334\262\234=\342\251\221\274\315\205l\276\007&\006\276\347v\365\275\342\222\341<z\261t\275\357\011\042<!|\206\275/\254\277<\363\011\357\275,r\205\275\255+\015\276'\203\220\275\014\333\034\275[C\307=jI}\276Z\336\233<\243x:=\260\254\340\275\303\354\203\275\250q\242=C*\373\275D\244\007\276\353\373\365\274y,6=\237\034\232;u\345\225\273m\353:\275\224\347\014>\225\234\215=\301\225\206<\030\364\324\275\350\241}:/\311\264=O\261@\274f'~>\363\300^=Y\027\300<\200\373V\275\266\267Y\274\204\005\220=k\374\364=><\320\275\266\344\010\276|\036\341=\226\273\304\275\003\372\231=\270\3216\274\020N\001<\014V\227=\234\255\005\276'\366\261<\317Q-=\2409:\276/i\203>\134z\272\275~\307}=>Ko\276\007\260\333\275D\371\336\271\0139\326=h\2106=\241\352\022\276@\345C\276\026\326\010>\353!\023<_\011\304\275\226Q\002\276\326\356\001=\376\257\006\275\320\000\277<\346)\014=\031o%=\261\274\345\273m\026\210\275$\013\030\276\346\271[\276\372Mm=\035t\333\275\371\234\232=\207/O\2753\034\331=\021\377Z=\370>\241\275\002U\372=\317d\276<_\333\214=\042\005\261=iV\360\275\225\267\020\276I\134\327=\3640\015\276+Hr\275cJ\011\276\247\345\200<\263nN\2750\332B>\000\367Y\265\274Z\256\275\324\015\002\276\337\245\336\275\336c\215\275\373\303\253;)Q\015=8.*<\314%9=s\352\006>\312,G\274k\207\261\275\250\236\010\276\364\214\004\276%K\220\275\000\032\010\276\035\027\232=nw7=\344\306'>\314sL\275kF\204=\200u\375<\021\335\024=\204\245\201\275\010w\367\275x\013K>\350\002\336=/\355T\275\352\314\241=8\035z\276\371u-\275\321n\206\275\235m\034\275-D\310=\326\331\016\276\365\216w\275\306\200\016\276\326\307\200\275\247R\205=G\217\042\275\300]a\275u\223\226\275)\201\335=\323GC\275\226\353V<0i\034>\336\005\007\276\030<\224\275\247J\007\276\202w.\276,\262W=\204yd=\236\042\351\274f;\261;\245\025\342<P(5=A\005\330\273\334\335\264\275v\216\033\276\030|\033\276V\342\273=\374[\333<%\336\234\274\212\026\232\276Tp\006\276\014\274\212=\374\273B>\371\260\207\274\275|7\274W\337\345\276\274KA=\042\346\251=eM\311<\015\267(\276\324\010\313\274\035TD>\357Ys\276\242\026\000=2\347\346;\254\371q\276L\324\275=\210ID\274\316\312\032\276\301SW;\304\344j=\004\240#\276\367l\253<\017\201\364=i\006\243\2743\351&\276\360\370{\275\334\004\342\275SK\340\274@\367)=\035\367\340\275\015\355\353\275\022\341\252=\203h`=\025'\213;ExE\275\031$\001>\251mf\275\016\005\221\275&\202\352\275\236\007N>\376\370\243\276\316\340\010\277\033\262\250=%P\003\276B a\276\210\370\213\276\3708\134\275\025w\342\274\033!\027=\230ph\275\244N\037\276\303_\367\275K\337^>\042G\017>53\343=V\012g\275\262U\134<\347\015\332;\031\365\205=\223&\022\274U_\321=F\013\262<\230\275\372\272\310\343\265<8\234\320<\277X*\274\033~\017>aD\012>  \177\275\307n\036\272\360\203\233\275\262}T\274;9\215\2751\3673>6\337\026\275\003\033\241=\077\304Q\275\217|d<\203\001\042>\331{\221\275\232L\235<\315ZH=\077OZ=Q/\323;\205[%\275\222\233\302\274\240\002\213\276\203\200\023\276,F\305\274y7\373\275'\221f\275vx\005\274A[\371=\257,\204\275\203\027\261=\225\227\322\275\026\235\361<\355A\3438\243\365m\275-\370\243\274\260\221J<n\0265\275\334X\010=}\266\341;\005\024\255\275\320\235,<\376h\247\274\031|S\274\015\257\077>\3616\204<13\036=j\236W\275&\177)=11&\276\333[\200\275\302a\254=\343Yi\274r\316\006\276\276#\005\274\325\350\312\274\134oV<*\325\321\274l;'>\266va<F\355\341\275~\216\214\274\346\222-\276-\255\016\275\035\032\216\275\307\035\313\275\337a\221=\274!s\275\342\320\2469\324\347\343\274\266\313\034\276\362oc\275K\340T=7\007!\275\230L\375\275\326#>\275\315\204\250\274\302XR>\322O\220\274M\377\026>g\266\250;\336\247\011\276\322\261`=|c\213\275-\277\232\275U\231\320\275\004\220\305\274\225\015\304=\014\3549\276\005`\216\274\200\3616=~\357`;_\277R\276P\264\022>S\363\336=\270\221k=o\200\027\276G\264\013\2767=!;\255\245\256;\2005\213\276\325\336J>\025cj\275\243\271\036\273X70=\246]\035\276\351\335\001\276n\365\366\274\373b\202<\230\225\351;Y-\032=K\352\222=\277=\320:\354\260\356<\300\361\002\2759\356E\275\367\243\371\275!L\241\2754\312\252\274\275\255p\275\212\022\032\2759\226\320\274\243\204\025>m\244Q\275\253\340\034=\304f\032\275\247\010\274=*\316\356\273\332\275@\275\301\353\277\275\351\355M<\035\241\370\275|&\226\274\324\033\000\274\034N\031=\232\343\271<nM\263\274\206g\345=nh\206\275\316\0772>\037\024.\275\134\306\015>\301R\026=\230Xc<V\223\234=M\0359\275\353n9\2744\301\205\274@\240e\275\027\234\243<~R\321<k\364\017>\2177'\275)\367\225=H9S\275:J\353=6\216\305\274a\206\350=\214\254\005\275\313'\376:\205\365E\275`\2110=\354\023$\2764\216 \275\346\347\252=\235]\006\2767\367\353\275\036G\210=\346\037\034\275@M/= \226\254\275\357_\022\275+^\213;\333\334Q\274T\246X<\207\200\354<\325\004u\275`\253\015\276\365\250}=\200\222\222\275\222TZ\275&B#\276\312/\003\276\250\042\020>Z\077\351\275\251\350S=Ry\360;\374V\366<\000m+\275\262.-=\320\317\304;\206Y\240=z;\263=\026\377\222\275\027Zr\275\032\262-\276Xx\201=\030i\305=\275\2133=\301#Z\274S\015$\275|\263\000>\312\311\007\275\033\255\214=\215\244\032=\026\011\024\276\375\241\225<}\202\255\275\232\042\025>\221h%>`\334w=\206\201P=\362\230\022<w\253$\276\255[\262<\002\334\013\273\360\0314<\331\2505\275Yr\033=0/R=\341\202\004=\222N\245\273)\021\362\274.\250.\275\355\212T\275\255\300\216=\211>\260\275$*\277<\275\203T\274\325v\210<\310\352\234<\305\350t=\201\310\271<pqQ\274\245WM=\240\034W<1\213%\274\322|-\275\311\324$\274\177\234\251<N\316\027\275\006k\015=\263Ay=\324= \276\005\0165>'\3131\276\0309\215=\332\322g\275\233\004;\275\253\272\245\274\337\356\331=\207\316\364\275$2w;\203m\277=",
"V\250\275=\077\321\343=XC\372=\333\134\030\275v:\212;\001\336\337\275f\303\027>xI\267\274m\222\334<\216qK\275x\206[\274\355\017\013\274(.\210:\326\221\242=\361\362\230\275\256:P>\225\217\210\275\361\032\300\275\236\036\222\274 \335o= \240\340\275\201\216\025;R\327\077=N\222\026>\016\321)\276\271\014\325\2756.\202\273\377vR\276)\317\270<~-\347<\373\022M<\362\265\037>\234\016\320<\346G\017\2769b&<)\355\207=K\331\012\275\240*\260\2750JA\276\267\352\246=\215\256\256\275\033\016\003=\264\217)<|'\377=f\370\000\276\007(\273\275\313D\211\275k\315\031=s\015i\275:\337~\273=\002\350\275\230u\255\275\335\016\323\274\2551\310=\203{B=\036\215\227=B\236\310;DU\353=\304E*\275\256\031$\275os.\276\257\327\011<\001\3725\275\313\252\016>\364\322\264=\252\275&=$K\224\275\215\024\271<\042\014Q\275B\260W\275\316gH\275\216\004X\276V\300\271\275H\002n\276y\301\210=Z\332\200={\371\235\275\345\343\255<b\350\020\276\373\077\001>\323\314\032\276\212^\311\274\034\325\366=\007\313\224\2751\306\360\274\260|\336=\252\305\317\275\3530\077<\231\351r=\333YK\275e5\022\276C\020p=\356%K\275;%\320=j\363\254<\365\007~<a`\330\275!\322\023\275_#\326\275\361\2409\276,56\276\350\270\012\276\241\330\177\275\177x\327=\025\225\313=\021Z\344=\224\2206\274i\264'=\017\177H=\216n\253\276\270\034B\2761\020\271\276\361J\207\275\311S\271\274\006\012\357=;\337\307=\217\321\005>Q9\361=*\010;\274T\344\207\2769\021\266\273\322\012\240\274\216zC\275O\275(>\377{\353\275\003\252\327=\363\374'\275w\366\360\274V\022\316\274\012P\274\275\030\216t\275\201\276y\2757\025t<HJ\002>|\025\201<\244\020'\276&C7=\2419>\275\203bN=\2274\336\275\240r\355\274s\024I\276\355\324\037>l\257%\275b \324==\332)\275{\215\313\274\323\250\257;Y\241\026\275\320--\275`\264\031\276\321\352\021=\310zT>\301\340\357=8\007\377\275\316\250I\276\250V\273\274g\255n\276\346\263\023\275\335\343\000\276\346\017M=h\261`\274\000E\275\273{\212b<\333\005\367\275\340\324+\271s\311\213\275>\254j=\353\006'\275\034P-\275`#\273\275\031\373a\275@\303\007=\017\025\005\274k+\002>\327Fe=l\310\233\275\337v\312\274\214\355\216\276eF<>\324\375\333\275\253\372\225=\365\310s=\2413\013\276\355v;\276\0058]<u8H<{\077\226<\3069U\276\011Jl=\324\215\317<%\200z\275 \0348>\376\201\240;pDB\275\303b}\274;\231i\276\3459\320<\247\372\210\274@\374\301<\020\025\301\275\253/\011\275\250y\032\276\244\230\213<\272'Q\274\134\200\006>.\210\222<\200f\213=\331\364G\275\02278\274OL\206\275\021\370\237=\206I\312=S\216Q\275\223O\273\275\311n\314=\337\267\200\275HUo\274\260\212\303\274\206J\356=\205\246\316;\352\024\240\275\212v\234\274\005]'\275 \077v<d\246P\275%\303\235\275\210E\321=\332N\363=\241\274\006=\332\205\350< \257\253\274\035P\222=\244\241\013\275\241>\021\276\361E\206\274[ \346\275\023)\223=\301\336f<m\237\003>\250x1\274Xr<\275\227$\077\274\242v+\275&&7\2751B\031\275y\354#=\031n\211\275\230j\247<\177CI\275+\240\020\275\266\274\011>\322\251\042\275\002\357]\275N\344`\275\022\376\213=-z\024>G\213\010\275[2\036\273\350D\013<\330\014^=\223\307\215=\315\237\265=\316+\217;i\011i\275'\316\240\275'\354\303\275\360\237\021=e6W\275\032\376v\275\314\311\375<\042oh<X\2674\275R\205\022\275x\377\332=;\355g<{v\234=\254\2457\275y+\265\27583\324=p\224\364\2734W\361\275\362&\220\275G{,=\335\003\022\275c\260+\275D\321\255\275#D\213\274`\371Z\273\337\366\314=\026\315F\274\366b%;\327\241\230\275d\374\177\275\236[\353=\320\261r\275V\352\031>\000\026\027\2769\377k=]D\222\274bT\202=%]\010>\000\273\036\275/>\240=D\242\261<\265\226\001>\326!\006=\350\033+=\204o\011\275=\033\303<\301\042H:\303d\220=\346\376B=\310MZ\274\231\252O=\253\2652\276\222\024\025;\007\226\363\275@:4=\347\022\251:EK\031<\255\364\251\275\310\342\017\274L3\303\274\331c\203=n#\303:\300m\011=\004\276\322<\312`O\275\020\332\326=\077 \322<\326\233A\275G!\243=S5\221<\241\244\216\275\010\330_\275\327\330M=\020\000\021\275V\263!>!EM\275\250>\211\275Y{\246\275`\221b<`F\306\274+L\031\275\214\321]\275\266\330\206=]V\025\276\346L\032<=pS\274C\346\303\274J\222c=1\233\371<\371\337\247=\225\366\303\274\234\275\246=&7\273=\030\027N<\014\326D\275-\370/\275\315\334t\275'\0300\276\274\350I=Z\335d>'=\367\275\201 \352\275\346\371\005\276B\007\250\273\265\202:\276Z]\215\275\331\013\244\275\314O\241\275 \0222\275C<\002=\234%->\360\276\200\274\244q\236=\301\220\252\274o\321\213\275\234\211\013\276\027\275\350=\376L\301\275bO\313\275=_#<\203\371\371\275Z\226\210=\021\211X<\006\325\253\273W\352\353\274\333\250\230<\204\207\207\274\277\003-=\215U\377<tn\005>\320E4\276\327\353\344<\275\272I\274\267`\225=cw\014=\221C\363;j\353\227=\337\344\036\275t\224\312=\331+\001\274\001R\302\275~\077I\275\3460\201\276\001\241K>\3549j\2768\224\035\276\305\017\211=\263\246&\2767m->\362nb\274r\326\011\276_\011\035>\304\323\017\276\210}0\274\042\333\264\275\003,\134\275\342.8=<E\011>\0250\023\275\2743\366='\275\240\275\314C\211=\177\225\356<Yn:<\307&\273\274\260\274h<\304&E\274'\271Z\274\341G\013\275\327T\037=#\230\261\274\313S!=e\206\021\274m\303\036\275\232\324\032\275\001o\213\272i``\2766\027M=\227h\014\276\024i*\273d\015\001>\021\225\257<\323\357s\276\332\306\250=\312\2676\276\323#\347;\334\365\372=\374w\263\275w:\021\276\012\365\360\275\271\200\230\275U\351\212;P\024\000\275\267\325\015\275\361k\216\275K\027)>\344\343\367<\306\332\306=\006\267\353\275,u\202\275\035\2258\275\1778Q<o\013\305\275\356\311\373=\262\035\005\273\332\350\336<5\254C<\331{\263<\253\2673\276\337\277\005=\325\035a=\224L\207<\370\010\226\275[\340\207:\035\024\232<\310\241r\274\314\365\200\275\373!\364\274K\376\306\274\232N\261\275\032Mx>CuE=e=\302\275a\321<=\340Lg=\332\371\252\274-C\016=\327\352\000<tC\337<\2331\340\275\035V<=\031.2\275o\347\034\275\274\036s=_T\335\275\200\264k\275",
"\035\321\024\271\227)\305=\341%\216<\222kU=\034\230E\274\2234\077\275{\026\227<A\351\023>\077F\237=\001 \204\275u\271\235=\346\374\311<\031\313j\273\273\264\312;\250\364q=\256\252\272\274\336\354\342<\005`\224<\331\207\014=H\221\265=[\003\244=o\334\327\275\220\227\346\275\261Z\035\275\033\334!\274\362\034\010>\314a\211=/\340\012\276\025'\022=m\334\032=V\323\200\275\271d\202=U\204Z=\250\340\200=$^\317={l\033\275\207\024\241<9|d<n>\001=z\332F\275\365\326$\274iU\277\275_\356\300\275\030,\366;\222\230$>\334\213\274\276\034\275\211=\313\001\201\275a\322\027\276\355\2407\274\262\205\334\275q\231R\276\241v\376\275\237Mw>$Kc\275\005\253\257=\232\012\253\275\015\350\256\275\251\2239=\014N\374<\304\241\262=\205\012p\274\207K\246\275l\010B\275\210O\310=p`\007=kRk=\367\356,\275O\310\377\275\335\333\236\275\257\373d\276\376\323\134\276Z\020\255<\361\324\030>\245\323\335=2OO\276\210i\345\275\211\005j<\346\302\033:\244\331T\276Q\237\206>G\222\356<\247\377\017>\036\273\013\276D\244\247\275j\300\350\275\017d\265\275\232jF=JU\304\274\355\311`\274rmf=KY\026\276q\266Y>&\373\266\275q\212I=\344J\270\275W\220N\276\337\363\033\276t[\241<\232>\240=\364\225\036=\013_ \276\332\240;\276\352\321\250:\311#X\276\334\375W=\004\334w<\375\322C\276n\330\264=\214\265\023>\240\237\262\274\375\3549\273\221e\223=\134\023\360\275\343\031\303<\225\226-\276\356\240\326\274M\042\077>\251\255\352=8O\307\274Ma\365=V\311\367=q\371C\275\206~'\276\237\336L\276jx\374<\243\216G=\350*~\276\220L\254\275f\030\262=\312\330\332=g\253\350=\340\240\324\275H\207\134\276\216\014\326\275\345\254[>\237(\312\275\273\300\012>\363\200+\276A\077\243;\347\244\355<\342l\330<m\371\240\275\306\200\332\274v\256\013\274\305\275\206\275r\277w\276\243\247\032>s\033\353<\374\215\215\276\206o\020\276= 3\276A)\252\273\355H\033\276\236\004[>\261\313l\275<\234r\276\374\232\315<\323\374\032=y~\002>\204\235\201\275\325m\004\276\273\376:\276\267\001\026\276\313q=;\013\015\207\276\016\220\011>~\277\335<iex=\250m\263\275\252\077\367=4WE\275\271\025 \276\264\013\237\275]\017(=5\333\371=]\007\353\274p\202\002\275^\212\002>\021\377\024<@-\267<\333\266\244\2757Q3>\034<c=3-w\275J\341\243\273[\256\264\2757\275g\275\371\250j\275Y\012\003=\353\237\273\273\243\221~=2Ec\275\333\273\231\275m\375\031\276y\227\300\274p\332m<w\265\030=\017\341$\275\237\361\202=\363\373\236=\315\233\356=\013\214\010=^w\205=\260\016\214\275\034\014\360\275\222\2433\276\236\003D=\036\300\247\275E}\367<7i\000\273\377V\233\275\021\356#<fX\020\275\256\352\037\276\013\301\367=,U\374:\315\204\352=C\212 \276\357A\250=\217a\030<-\023)=L\024\226\274\005\365\033\276\375g6<\233\025\255\275m \023\275xZ\274\274\000\354\275\275\023\311\301\275|y\375\275\275AT=|\217\266\275&1V\274\025\177\323\273{\177\301=@\331Q=\335\335\010\276\3643\363=\034Pw=>\275!=G\232\214\275}\275\231=sW\330<\262j\236\275\013qb;a\023\372\275j\337\333=\306\027\032=$y\377<|\246\317\274\022\336S:V\341\224=K\227\026\276\026(\245=\303\010\201\276\003*\245\275\000\026\334<\261\231\036\276w7\310\275\231\201\021>\247\204\336\274TEk<V\004\022\275\324\211\271=\322g\333\274\224\264w=F\231\356;+\206\033=\022&\134\2766\203P<\017i\257;\266M\002\275\340\376\201<\035\367\263=\316%\246\273\254s\321=D\203K<B\254\225<\222\247\266<A\320\202\275\027\303\267\273\024[\233\275B\020/>&\213M\275`\366\342\274!BP;\214\243\256\275Z\306\025\275\214\276!= <|\275\2438\377\275\002\241\227\276\201Su<\341\261\013\276\016\010\012\276\313v>=V<\206<\330F|\276\0379:\275\343\374\037\276\356\034\201\275\030j\216=hn\303=\037\314\215>jU\031>\326\276\007\276\031\021-\2752s\020\275\204+\263;p6\202\274\247\256\026\274\001\313\301=v\134\352\275ns\257\275ll\2438*N\322;\345\211\256<\300m\026>\371%\202\275\202p3\274\032\266\042>7!\027>\325\031\372\2759A\020>\234\205[=3\263\036\275\243\3276\276\242t\323<\244\312\262\274\354\276\347\275\306\026\220=\364\210\022=Y\011\277\275>\1342\276\201\037 \276&w\006=\031;\347<\337\267\017\276\364\000\206=\204\312\217\274ww\303\275\217\324\234=\210+\213\273g\267\003\276\302\015\011\276[z\372\275\277W\013=Ac\250=<\342\306=\255\362\340\275\354^s=\264\364\243=g\212\346\274\217\032\002=\325\221\267\275\240\224%;&\340\007\275\214\375\304=\321\367\364=n[\014>\275\360\356\275\300\011\027>\270\025\000\275Q`\351\275X<2\272^\233)\276\371)\034\275\263m\253\274\000\240\214\274wkK;\032DX\276\301x6\276\3059\357<\010\360\236\276\351\005^=e\3675=a\316\305=\352\301\016\275\335\216\362\275;h\377<S\013\230;c_\222\276\231{\017=\211IP\275j#0<p\262\271<E\270\372=FC\010\276o\372\305\273u\201\031\276\3054\234=o\246\304\275w\357\325=\225\034\267\274,\316h\275\000/\031\275L0\235<\363m\223=<\371\006>\271B\372\275\355cW\2756\024\310\274\021\0072\273\266A\310\275\245{C> s\270\275\001]\252\275\321(\262\275\373`V>4\001k=\227hW\2761\002\313\274\354\233\250=\235}K\274~kH\276\272\346\235\275\335R\226<^\371\013<\265\374\240=\275\273A\274\227W\237<\303\315\267:\364\252x=vit=\343;2\275\377\032\017=\301e\030\274\316T/=+/%\276\363\347\012\276\264\337\015=\317\376\000\276v3\016\276\230\306}=}g\004>\031\077R=n\250`\275~\332\271<\320\134\006\276.:'\275e\267\033\276\327:@\276\242\027O=\344h<<\2138\020<o\333\300\274\202yK;\315\333\241=\216\021$>\314\250\005\276P\263\134\276\010\312\204\276\317\236\011\276\350\371[=\274\010\020=\337`*=\263_=>\242\207\317\275\214b\010=cw\371\275c\207\342\275\274`\201\275Z/\321\274\330S\023\274\337\265\256=\077\371s\276BD\212\274\350\344\001\276e\353\005>\010\305\337\274Vj\365\274H\005-=\315\331\277=\203\364\017\275\210\022(\274\305c\311=\204\360~=sQ\245=\374n\352\275\366\373f\275s\342\302=\331\216J=\020\361=\275C=\346\275%a\255\275\372\205\273=\3026\006\276\033\351\237\274>^R<e\177\202\275d\245\377<4;\372<\134l}\275\024t+\276y{\026<\013f\022\275\2609\252\276\017\277\334\275z\217\007\276",
"\320UI<\376A\357;*\243\001\276~\367\352\273s\305\250\275\306\353\037<N\325\263\275\350\262\000\276C(\247\273\233\012\302\275n\015\242\274\203O\355=\363\000\252\275r=W\275\354\247\276\275\3412\255\275f\364\201\275\322p\310=\356/\247<\333\235\352\275\020\343\273\275\255\024p>/k\235=\352L\327:'\320\012>\347\346\222\276\234Q\035<\272k =2\000+\276\003\241@\276\003+\227\275\363e\033>\265[\031\275\015\252o=R\347M\2755\301\014\276sM\003>\223\307\355=}=\317\275_o\242\276\363Q\212\275\254lN\2753\363Y\275\042c\012\276\331\033\234=\356^\014=fd\251<\375\016\276<EY\262\274-\013k<\306\217\233\275/\020%>\006!\177\275XRb>1\177\033\276\354\331\003\276\235z\377\273v\272y=\307\310\217\274\313\356\020\274%\237~=9\030i=uY\033>R\243\030\276v\220\371\275\271\341\350\275l\222B\276\245\253\305<\246\015K\276\330\267\022=_U\271\2757j\263\275\335\315\213\272\372\354\000;\325\201\032=U\360\222<u\272\015\274\374\357\001=\314mu=\254\242s\275\260\350\276=\315\341-=G\030\006=a\334\255\275\202\000k<I\270\351;\325n\015\274M\177\266=#%!\275z\254\010\276\323\330\226\275\243/c>\355\025\003>\347\314\346\274X\2648\274\354\000H\275\347\262\314\274\030t\342<\023\326\233=7\264\202\276*>6\275\020:\356=\014`5\276|\341\216=\336%\202=i6\247\273\347q\241\274~\306\042\2754\312\337\275\015\313\030\275\024\225$<c\211\203\275a\077\316\275<\304\202\275\212\202~=\236\036\024\276\303\025\036\276\345^\274<F\324\334\274\227\254\011\276\361E%\275^\025*\274\342\321\001>l#L\272*\012\317<\254E\012=\356\351\216\275\253\017M=&rs\274\325\243\255<!m\242\275\3541\325=\202\366\011>\303d\301<\343\357e=\332\371\216=U\231w\275\031\354i=v\230a\276\353\210\252\275\325\216\016\276\362\301J>.6\231\276\027+\016\275\036\201\320\275\327\270D\2765\223\322<\225\2553\276\260\007\302\274\243l-\275\016\275\025<*.\323\274\224@\352=\271\031\205=M\324}\274\271\305R\275<Eb<z2!>\261\365T\275\321\011\203\275W6O\273\235\244\267\275\033\232\316=\362&\251=\223\011\010\276\242\030\011\275j\312\251\275\312\032\001\275w~\271\275\335\376\021\2760\016{=\330i\332\274\003\314\311\275\273\261\270\275y,B\276\304'\244=\313\324\325=\312@\366\275\032\336\001=\250\012\352\275\376k\014\276\225\233'=\231j\016\275\342'\352=\367LB<\017n\335=EK\205\275\012\025i=\024\311\234<\2615\222;\205~\012=\211\077!\274\042\220i\275\270\262\231\275#+\323\273\271\251\237\275\215\364\315\275\330\277\031<\252&\350=\377.\344=P!\256\275\371]\323\275\010\346\317<\006S\204=\015\371\036\276\216\314M=\234\217\033\276.w\211\275\274\042\334\2752\277/=\333\004\200=\220\330\206<)\022\306=\021\373\317\275i\325\207<0\032\010\275Y\002\222=%\007\255\273\251\035Q\2766I,\275\037n&\276\221P\312<I\224N\273\343z\025=5\336=\274{\000\224=\352`-\276\347\276U=\363/!>V\333G\275\267K\247\275\334\271\005>U\264\232\274\271\033\205=+\211\210\275\216f!\274ID\203\275\230\364\331;\355[\363\274\321\377\004<\305};\276\317z\016>6\267\203\276\214U\003\276\343\356\211=\267\360\215=F\326\013\275\354\265\010\276\301\264)\276\205@\340<\204\345t\275\342\330&\276A\024\010>\016=\331<xK\361\275j\033\272<\031K\006\276\003\221\243=\242$\361\275S&\316=\3107\301=\352\322\033<\3378\200=\025\266\321\275&\246\024>\331W\323\273k\312y\275|\223\020=V\343\265\275\205\035\336\274\313ow<~<i<\222{\355<KJ\362=\032\273\335\275\351m>\276G\035\341\273\202\001\306=@\370\275\274'|\030\275(y\036<iV\310\273^\374:>\3172\276\275t4\027\275B\017\207\275\007\004\341=W\371Z<\212\334\316\275\326]\353\273p\316$<\264_\353=\257\010\300\274\357>\016\274\203\370#=\222\351\313\2749\324\300\275\2707\205=\357\252,\275\206s\201<\222\357\265=sJJ\275\305N\200\275W\341P\275DP\323\273\352\201\210\273|\327\267=\251\227\002\275\001\036\360=\042\015\011\276Z\032\340\273\014H\214=\023\3124\275+\344&=3\002\201=)d\302\275G\357y=3e\207\274\027\177\227;PK\207\273\231\355\316\275N\215\005\276CJ&=5 \036>#\253^\276\020_\234\275<\214\211\2759\134\034\275\203\265p\275f\326\374\275\006}\372=\217'\035\276\312/\302=\012L\005\274\332\343Y\276\006\361\314=7\327\323\274`T\224=8\216s\275\042\250;\275\272\300%\275RLY\274&\257\353:V\247H=O\356\245\276D\330\035>\311>\237<K\276N\2750dP\276.\007\022\276e\311\352\274fS\317\275\204&*<\2649\211=\030\204:\276\027O\275=d\274u\2751\3201=\204rn<\033\355\203<G\271\372<b\206\016\2766\2432=\036\275\243=K\257I\275P\370\336;ni6\276\032\310@\275\207hb=\275\264\021>\346\327\337=-\377J=L \335=zB\024\276\317\375\222\273\244\357\357\275;\230\300\27457\332;\323A\235\274\3774\267<\3715\200\275\134\316\336\274\251\274\275\275Cu\361;z\032\037\275\336\237\266;\314\016\233<n\335 \276J\204\036<\346\242%<|\211 =J\200\034\276\223\2352<\354L\016\276\357\252\360=\301/:\276\303\341{\276\206\274\301<\251\220\272=zG\007>\307\345w\275\307\3403\2753\2538\276&G\204\274\332P\251=\350\371\016>h\253\205\275\037i\322\275-\033w\275\032\267\013\275:/\277\275S\220\350=\242{\213\276\250H\345\275\326\320V\275\007\361:\275\204\026\244\274\036:^>s\017\217\275p\023\203<\030\264\245\275\267t\215\275\035v\270\274\310\374]\2756\371\271=l\012\200\275\250oF\274\252F\364=\2131\337\275\026s,=\210\223\027\2758U\363\275\335Sj\276S@\266\275\275\261a=[\312\001>\343\203\345=K\262\227=\272\207\262\275\302\211\310\275\344\313\226=\303\245\266\275nZ@\274\024u9\276\010m\272=\245\216\230\275>v\033=\013%\022\275\265\025\017=/6\202\275U\357\320\274\227\333\233<%\015\252=\1770\257<\011\276\312\27428\307=V\361\247\275V\003\202=_\022\307\275Sw\266\274O\243\021>\270w\306\274\000X\336\275\224\272\035\273p&\317<\010\343\363\274\245&\231\275\0301E\275\014\214C\274\201\233\010=hK\023\276\216\235g\275\322\250I=f\002\234=\355$\310\275\222\021\027\276\263\307\325=L\341\222\276\363l\255=\212\351Z\275\305\006\224\274\230\212\311<U\364\017\276\0071\001\276\251'\353\2755\237\244=\030r\247;R\314\021=\003%\011=\205%\251:\025\204\376=\316\014\313=\177\036$\275D5~\275:\023\003>\037Ui\276\343\222e=\030\015\227\275\364g#\275O6\226=",
"8z&\275\330\235\214=:\005'=\332\325\025\275\335r\023>\325YQ<\315q.=L\007\216\275\034\227,:\177\370\021\275\367H\351\274y\370D=}\2320\275\134_l=\204\256^=y\253\320\275H\037\365<\266\220\323;/08=\241\337\027>3\227\011=\274m\003\276\322u\274\274dX8\276\260\334\004>\355\246O\275\205\231,=g\265i<1\301\314\274o\223\241\275'P\030\276\2513\203<\035\355\352=\004\244\214=)J8>\240\212\022\2769\371\337<\242\356\346;\350\327\247=\326\0175\275;\305\300\273\337\246{\276,2h\274*\375\264\2742o8\275\342\252\331\274\344t%=\031\342&<\320\322`>Q\005\324=\377\242\307<g%\263\274\331)\003\275\020q\205=\303\375\325<RA\371\275\201\3305\275c\024\347<:R\267\273\035\361M=9F\364=\236\337\331\275\020\252\322=[\251\077=\042\206\037\276)\015R\275\317(\214\273N-1\275\233|D\275\327P*\276\356Z\325<;\211\261\275\3043\235=\302W\230=\273\366\202=\252\3605\275\003=\203\275W'k\274\362\376\324=\363!\213:\357\256I\274\311\267\012\275\264\252[<h\3418\274\235\134\274<\257\021K\274\270\343\024>k\236\304\275B\273\223\275\256\267N=w\235\271<\277\242H\274\256{\327=\317\2227\274>_\345\274D\242R\273\313D\300<C\014\343\275\011{e\274\347\216\225\274wdJ>J\326\026\276\257>\013\276v\215A\275\300\307B\276\377\023\354\274U\314\237=n\215 \275p9a=\370\247\335\275\262\342\272\275\134n!\276\2255:\276\012j\022;Mq\323\275a\363!\276a\340}=\231S\364\273\273_\204>lM\271=\253\230\233\275\270\201N\275\2377\277\275\276H/\274`\362\324<g_\260<P\360\214\275xD\300=q\333\301=\271~\346\275\200\345\307\274\224 \177=\361\007O\274<}\302\275\363\077\277=lt3\275%\373q\275]}&\275\324\077\013>\350\327\327\274\347r\223\275\351\271\334<\352`\277\274\320\310[\275y\321_\2756\336\241=\037\301\203\275\352;J\275\212B+\276M\373\244\275D\033\312=\024;\327<B:\020\276F\367\250\274\225\340\012\274\246\264\206=\324\301m=\237\012\134\275\353k~\275\376\324\017\276\271\277\235\275o\241b=\264fu<\255\225\042<\305\231H=6o\363\275=\344\253\274\343\017\227;\376\276\036;\366=\376;\353B\212\275\261\211\030\275>\011\345\273U\325e=\372\377}=>L\326\274@W\227\274\255\376^\275\314\272\237\275^\037\024\275\220\251p=\251O\275\274\035\000\272\274\001\375Y<\134v\030=\370\006e\274\032\363B\275\270C\011\276\371J\276\275\3656\360\273\265\032@>\207A\233\274zQ\277\274p\226L\275\212#\340\274\263c\307='\236\351\275\214\333M=\270d6=\266\376W=\036wA\275z\004M=\224\213\203\274\365\011\347<\345\023~;\3163\177\2755t\221\275\362\220\024\275\255\036\320\274k\352\333=h\236W<\036\134\302\273N>\222\275\221\271\310\275\216p\344=,\004w\274x\353\375\274o(\230<\320%\376\275\252\231\202\275\252|\357\275\022P\210=\015\042\030=\243\022\203\274\200\216\020>n\304\311\275oW\336\275\327a\277\274i\021\362\275%\242k=9\371N<\220<\377<M\261\245\273\361\002\310\274\252\347\260<\266\212V<ck\246=\255\3202=\354\017\210=\371\331\324\2755s\310\273h-\004\275\035\374\033\276\002\031\301=\0315\370\274\320{8\275\030\250Y\275\257@\204\274R\342\007\276 F\247\275\025\276\201<\366T\246\275'\2427\275A\0166\276%\236\366\275\014\331\002>,v\332\273$\0111\275\266_ \275\037\254\015>.\033\375\274\272\230\265\275\313wi=\330P\005\274\233\214\251\275\214\037y=\317\042\021\276\333\270\260\275kJA=M\351M\273\234\002\341\273\251\211\361\274\301\270\077\275)>\004=\207\352\332<\322\027\257=C/\002>\217\312\370<\017\317\022\274\274\2750;`#T\275\002\036m\275\370u\304\275\223s\002>;P:>h,\034=>Y\134=\031=\304=\011q\331=2\214E\275\017\361\203\274\211\005\354<\203\030l\275f#\035\275\014}\236\272E\235\025\276\276~\357=T\212\254\274\365\367\321=\234\004\252\275k\351\257<\007\256]>f\263}\274\271\231=\276I\021\232=\033bH<\330\227\005<\025\346\233\275O\350\331\274\334[\204= %\214\274\326\205\244\274\2070\311=\210W'\276\025\230\204=\012\324\324<\302&\373<g)\004\274@\023\205\274Tw\201\275^\037\201\27574\223<\031\226\265\275\237\227r=,\223\311<\007\224\017<\226\327E\275\013\201\312=\300\245\365\274iu\310=}\215\331=_\217\275\274\247\036\270=\233\202\243\275\214\200\261\275\223:\005\276\077\234\004\276(\003)\275/\375L=]\042\256=J3`=\257!\224\275\225\011#\275\356\206\305=\225oM=\020h\250=\274\004'\273C\305v<\257+\243\275BI\002\275\306z\201\275\024M\202\275\360\360f\275\0007X\275\256 H\275-g\255\275vw\205\2744\321\216\273z\240\273< }<>5\014\335\275Q\210\213\275\346<]\274\2013\273=\231\251K=\231\224\314<\033\014\371\2742qQ\274|\272\262=\264\025P=\014\332c\274~\206\274\274\012\217r\275e\000\241\275<X\225\275\334\022\376<\233'\220\275\015.@=I\205H\276H\022\254<\223\323\302\274\037HX=7\331\017\275\015\222\242\275\333\302\327=\223[\335<4\255\332\274B\017==b\2020\276t\376\250\274\337z\221=b\256\237\274\246j\033>W\266 \273\357\264g=\340\307\321\272E\372Z\275It.=K+\244\275\246\374$\275\274g\251=H\032\274\275Bb\010>\303}\203\275\303#j=*\221\316\274\200\257H\276#\206;\275\360w\236:\346\327\002\276V\364R=\231cu\275\272\014\034=\261\243\240>B\246\351\2745\033\023\275M\257\271<q\347z\275\215\306\356<\213\017\316\275\230\313j\275O\240\323\275q\340\002\276\356K\333=\350\017\021\276\026\027!=\370\233\230=\252W,\275u\244\322<bx\265\275\222\333\017\276\260)b\275\346R\024\276\311\321\205=\211\025\216\275#\322.>k\303\201\275\015\213\215=\077\346\272=\316z-=_\377w=Z\212\277\274\327\014\362;fK\036=\007\261\023\274\271\006\371<\347O\274=\267F\337\275\334\226\017>`\225\301\275]w\252\275t\026;>3\003\024>J\255\231\275\035\177\005\275\325\360i\273\205 U\274\333\310\334\274\035\247\003=w +\275H\337\204\274\234\376\023=\3216\341=iF\240=\214\030\355<B'@\2750n\213\275\345\250G\276A_T\276s\200\005\276\320\374\340\274^\336\243\275\340\347\313;%A\240=K\244\003>zmZ\275+\364\231=\014\237\271<\023s\213\275p\251{=\237\356\223\2751z\014=\222b\274=rZ8=\366t\241\273\010+\013\275\014+\275\275\024\356\263=\216\225+\274\270\3161<J\034\365\275]\300\347;\362\352)\276\030\360\262=EKJ=\376Y\026\275\250\341\374\275\275\310 >$\301\327\2754\005.=",
},
"\227\250S>k\220\317\275\022\346\307=\016\311B\2758\342V<(`\344=$\025\254\275#\240\202=\333*\302\275\320\006\216\274\216\2257=\265\206\006\275\267\274\323\274\361\203V\274\373\301\227\275J\207\367\272\042cP<,%\266\275\013\315 \276\367\370-\275\031\317\234\275\240\247l=C\024\017\275\365g\234=\275\035&\274\217\276\033\274\371\361\312\274+i\077\275)J\365=\034\3354=\271\241y=\023\275w\274R\244\3219r\006\334=\247U\031\274\275\232\014>K\362\253\275-}\003=~=L\275\340\277\037\275\022\0118=\213\316K\276u\134\273\275\376\246\077\276'\317\363=\256\364\341<7)\232\275 \276\005\276(\042b\275\272\313\363<\374M\260<\312\323\237<J\263f\274\242\231\264\275\233Ky=\212\341\320\274j.\003\275\005\024\354\274\245\266\002\275+\356j=\357\014\334<\336\272\205;Y{4\276\330u\255\272,\350\255=\374B\016\275`&\245<\015\331A\275\306\315\332=\2276H\276\236&\227;\310\330\207\275\224(\024\274\016\014\353\274\203\217\261=o\332\347\275eZ\177\275vb\362\274\363\011\225\275\255S\364\275M\330\324=\032\337x\275q\206\012\275\377\350\3269\354iE\275\367,-\276\332\014\343=\304\321\323<\302\304n=\313\030\215\274\264u<<\342Z\223\275\305}7=m\235'=\224Z(\275\217\276k\273sah\276\010/\222=\036\002j\275\005Ka\272\317\230\234=\246\240\223\275S\3062\276\355\267\276\274\033\361\335<Z\316M=\341\305\331<K\211\300\275>#\260\274\272\335\233\275\004\244\233\272|\310\246=bW-<q#\243=\303ul=\005s8=L\265m=\267\214\276\275\214k\353\274\336\002\270\275"
} }
#endif
;
static const float dense_b_2[10] = { -0.011535085f, 0.0037483587f, 0.0005842532f, 0.015467103f,
        -0.003819394f, 0.0018750483f, 0.001212687f, -0.0020503434f, -0.0015847553f, 0.002409794f };

/* conv1, relu1: convolve <1 x 1 x 8 x 8 x f32> by <16 x 1 x 3 x 3 x f32>, add, max -> <1 x 16 x 8 x
 * 8 x f32>; 20.48 kFLOP */
static KERNEL void conv1(const f32 *restrict x, const f32 *restrict w, const f32 *restrict b,
        f32 *restrict y)
{
        for (ptrdiff_t m = 0; m < 16; m += 4) {
                for (ptrdiff_t oh = 0; oh < 8; oh++) {
                        const ptrdiff_t kh_from = max_index(1 - oh, 0);
                        const ptrdiff_t kh_to = min_index(9 - oh, 3);
                        for (ptrdiff_t ow = 0; ow < 8; ow++) {
                                float sum = 0.0f;
                                float sum2 = 0.0f;
                                float sum3 = 0.0f;
                                float sum4 = 0.0f;
                                const ptrdiff_t kw_from = max_index(1 - ow, 0);
                                const ptrdiff_t kw_to = min_index(9 - ow, 3);
                                for (ptrdiff_t kh = kh_from; kh < kh_to; kh++) {
                                        const ptrdiff_t ih = oh + kh - 1;
                                        for (ptrdiff_t kw = kw_from; kw < kw_to; kw++) {
                                                const ptrdiff_t iw = ow + kw - 1;
                                                const float xe = x[ih * 8 + iw];
                                                const float we = w[m * 9 + kh * 3 + kw];
                                                const float we2 = w[(m + 1) * 9 + kh * 3 + kw];
                                                const float we3 = w[(m + 2) * 9 + kh * 3 + kw];
                                                const float we4 = w[(m + 3) * 9 + kh * 3 + kw];
                                                sum += xe * we;
                                                sum2 += xe * we2;
                                                sum3 += xe * we3;
                                                sum4 += xe * we4;
                                        }
                                }
                                y[m * 64 + oh * 8 + ow] = max_f32(sum + b[m], 0.0f);
                                y[(m + 1) * 64 + oh * 8 + ow] = max_f32(sum2 + b[m + 1], 0.0f);
                                y[(m + 2) * 64 + oh * 8 + ow] = max_f32(sum3 + b[m + 2], 0.0f);
                                y[(m + 3) * 64 + oh * 8 + ow] = max_f32(sum4 + b[m + 3], 0.0f);
                        }
                }
        }
}

/* conv2, relu2: convolve <1 x 16 x 8 x 8 x f32> by <32 x 16 x 3 x 3 x f32>, add, max -> <1 x 32 x 8
 * x 8 x f32>; 593 kFLOP */
static KERNEL void conv2(const f32 *restrict x, const f32 *restrict w, const f32 *restrict b,
        f32 *restrict y)
{
        for (ptrdiff_t m = 0; m < 32; m += 4) {
                for (ptrdiff_t oh = 0; oh < 8; oh++) {
                        const ptrdiff_t kh_from = max_index(1 - oh, 0);
                        const ptrdiff_t kh_to = min_index(9 - oh, 3);
                        for (ptrdiff_t ow = 0; ow < 8; ow++) {
                                float sum = 0.0f;
                                float sum2 = 0.0f;
                                float sum3 = 0.0f;
                                float sum4 = 0.0f;
                                const ptrdiff_t kw_from = max_index(1 - ow, 0);
                                const ptrdiff_t kw_to = min_index(9 - ow, 3);
                                for (ptrdiff_t c = 0; c < 16; c++) {
                                        for (ptrdiff_t kh = kh_from; kh < kh_to; kh++) {
                                                const ptrdiff_t ih = oh + kh - 1;
                                                for (ptrdiff_t kw = kw_from; kw < kw_to; kw++) {
                                                        const ptrdiff_t iw = ow + kw - 1;
                                                        const float xe = x[c * 64 + ih * 8 + iw];
                                                        const float we = w[m * 144 + c * 9 + kh *
                                                                3 + kw];
                                                        const float we2 = w[(m + 1) * 144 + c * 9 +
                                                                kh * 3 + kw];
                                                        const float we3 = w[(m + 2) * 144 + c * 9 +
                                                                kh * 3 + kw];
                                                        const float we4 = w[(m + 3) * 144 + c * 9 +
                                                                kh * 3 + kw];
                                                        sum += xe * we;
                                                        sum2 += xe * we2;
                                                        sum3 += xe * we3;
                                                        sum4 += xe * we4;
                                                }
                                        }
                                }
                                y[m * 64 + oh * 8 + ow] = max_f32(sum + b[m], 0.0f);
                                y[(m + 1) * 64 + oh * 8 + ow] = max_f32(sum2 + b[m + 1], 0.0f);
                                y[(m + 2) * 64 + oh * 8 + ow] = max_f32(sum3 + b[m + 2], 0.0f);
                                y[(m + 3) * 64 + oh * 8 + ow] = max_f32(sum4 + b[m + 3], 0.0f);
                        }
                }
        }
}

/* pool: reduce_window <1 x 32 x 8 x 8 x f32> -> <1 x 32 x 4 x 4 x f32>; 2.04 kFLOP */
static KERNEL void pool(const f32 *restrict x, f32 *restrict y)
{
        for (ptrdiff_t c = 0; c < 32; c++) {
                for (ptrdiff_t oh = 0; oh < 4; oh++) {
                        for (ptrdiff_t ow = 0; ow < 4; ow++) {
                                float best = bits_f32(0xff800000u /* -inf */);
                                for (ptrdiff_t kh = 0; kh < 2; kh++) {
                                        const ptrdiff_t ih = oh * 2 + kh;
                                        for (ptrdiff_t kw = 0; kw < 2; kw++) {
                                                const ptrdiff_t iw = ow * 2 + kw;
                                                best = max_f32(best, x[c * 64 + ih * 8 + iw]);
                                        }
                                }
                                y[c * 16 + oh * 4 + ow] = best;
                        }
                }
        }
}

/* dense: dot <1 x 512 x f32> by <512 x 10 x f32>, add -> <1 x 10 x f32>; 10.25 kFLOP */
static KERNEL void dense(const f32 *restrict a, const f32 *restrict b, const f32 *b2, f32 *y)
{
        for (ptrdiff_t i = 0; i < 10; i += 5) {
                float sum = 0.0f;
                float sum2 = 0.0f;
                float sum3 = 0.0f;
                float sum4 = 0.0f;
                float sum5 = 0.0f;
                for (ptrdiff_t k = 0; k < 512; k++) {
                        const float ae = a[k];
                        const float be = b[k * 10 + i];
                        const float be2 = b[k * 10 + i + 1];
                        const float be3 = b[k * 10 + i + 2];
                        const float be4 = b[k * 10 + i + 3];
                        const float be5 = b[k * 10 + i + 4];
                        sum += ae * be;
                        sum2 += ae * be2;
                        sum3 += ae * be3;
                        sum4 += ae * be4;
                        sum5 += ae * be5;
                }
                y[i] = sum + b2[i];
                y[i + 1] = sum2 + b2[i + 1];
                y[i + 2] = sum3 + b2[i + 2];
                y[i + 3] = sum4 + b2[i + 3];
                y[i + 4] = sum5 + b2[i + 4];
        }
}

/* softmax: reduce <1 x 10 x f32>, sub, exp, reduce, reciprocal, mul -> <1 x 10 x f32>; 51 FLOP */
static KERNEL void softmax(const f32 *x, f32 *y)
{
        float best = bits_f32(0xff800000u /* -inf */);
        for (ptrdiff_t k2 = 0; k2 < 10; k2++) {
                best = max_f32(best, x[k2]);
        }
        for (ptrdiff_t k = 0; k < 10; k++) {
                y[k] = exp_f32(x[k] - best);
        }
        float sum = 0.0f;
        for (ptrdiff_t k3 = 0; k3 < 10; k3++) {
                sum += y[k3];
        }
        const float v3 = 1.0f / sum;
        for (ptrdiff_t i = 0; i < 10; i++) {
                y[i] = y[i] * v3;
        }
}

int digits_run(void *workspace, const float *image, float *probabilities)
{
        if (!workspace || !image || !probabilities)
                return DIGITS_ERROR_NULL;
        if ((uintptr_t)workspace % DIGITS_WORKSPACE_ALIGN != 0 ||
                (uintptr_t)image % offsetof(struct align_f32, value) != 0 ||
                (uintptr_t)probabilities % offsetof(struct align_f32, value) != 0)
                return DIGITS_ERROR_ALIGNMENT;
        unsigned char *const memory = workspace;
        f32 *const t = (f32 *)(void *)memory;
        f32 *const t_2 = (f32 *)(void *)(memory + 4096);
        f32 *const t_3 = (f32 *)(void *)memory;
        f32 *const t_4 = (f32 *)(void *)(memory + 2048);
        conv1(image, conv1_w.values, conv1_b, t);
        conv2(t, conv2_w.values, conv2_b, t_2);
        pool(t_2, t_3);
        dense(t_3, dense_w.values, dense_b_2, t_4);
        softmax(t_4, probabilities);
        return 0;
}

/* the descriptor */
static const int64_t image_shape[4] = { 1, 1, 8, 8 };
static const struct dnncc_tensor_1 described_inputs[1] = {
        { "image", 1, 4, image_shape, NULL, 256 },
};
static const int64_t probabilities_shape[2] = { 1, 10 };
static const struct dnncc_tensor_1 described_outputs[1] = {
        { "probabilities", 1, 2, probabilities_shape, NULL, 40 },
};
static const struct dnncc_region_1 described_regions[1] = { { "workspace", DIGITS_WORKSPACE_SIZE, DIGITS_WORKSPACE_ALIGN, 0 } };

static int described_run(void *const *regions, const void *const *inputs, void *const *outputs,
        int64_t *extents)
{
        (void)extents;
        return digits_run(regions[0], inputs[0], outputs[0]);
}

static const struct dnncc_model_1 described_model = {
        1, sizeof(struct dnncc_model_1), "digits", 1, 1, 1, 0,
        described_regions, described_inputs, described_outputs, described_run
};

const struct dnncc_model_1 *digits_describe(void)
{
        return &described_model;
}
