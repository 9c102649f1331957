/* SPDX-License-Identifier: MIT */
/* Says when somebody speaks, while the sound comes in. The network hears 32 ms of it at a time, and
 * what it remembers of all before.
 *
 *     speech sound.wav
 *     arecord -q -f S16_LE -r 16000 | speech - */
#include <stdio.h>
#include <string.h>

#include "net.h"
#include "wav.h"

/* The network sees the last samples of the block before, too. */
enum { RATE = 16000, BEFORE = 64, BLOCK = NET_INPUT_ELEMS - BEFORE, PAUSE = RATE / 10 };

/* Speech begins where the network is surer than BEGIN, and ends where it stays less sure than END for a PAUSE of samples. */
static const float BEGIN = 0.5f, END = 0.35f;

struct listener {
        float samples[NET_INPUT_ELEMS];
        unsigned long heard, quiet;             /* They are in samples; quiet is where END began, 0
                                                 * where it did not. */
        int speaking;
        float most;                             /* It is the surest probability of this speech. */
};

/* Hears the next block, filled up with zeros; returns the probability that it is speech, below 0
 * where the network does not run. */
static float listen(struct listener *l, const float *block, size_t count)
{
        NET_WORKSPACE_DEFINE(workspace);
        NET_STATE_DEFINE(state);        /* It is what the network remembers. */
        float speech = 0;
        const int64_t rate = RATE;
        memmove(l->samples, l->samples + BLOCK, BEFORE * sizeof *l->samples);
        memset(l->samples + BEFORE, 0, BLOCK * sizeof *l->samples);
        memcpy(l->samples + BEFORE, block, count * sizeof *block);
        return net_run(workspace, &state, l->samples, &rate, &speech) ? -1 : speech;
}

static void tell(struct listener *l, unsigned long at, int speaking)
{
        if (speaking)
                printf("%.2f s: speech", (double)at / RATE);
        else
                printf(" (%.2f)\n%.2f s: silence\n", (double)l->most, (double)at / RATE);
        fflush(stdout);
        l->speaking = speaking;
        l->most = 0;
        l->quiet = 0;
}

/* Judges what a probability means for the block that ends after l->heard samples. */
static void judge(struct listener *l, float speech)
{
        unsigned long begin = l->heard - BLOCK;
        if (!l->speaking && speech >= BEGIN)
                tell(l, begin, 1);
        if (!l->speaking)
                return;
        if (speech > l->most)
                l->most = speech;
        if (speech >= BEGIN)
                l->quiet = 0;
        else if (speech < END && !l->quiet)
                l->quiet = begin;
        if (l->quiet && l->heard - l->quiet > PAUSE)
                tell(l, l->quiet, 0);
}

int main(int count, char **arguments)
{
        struct listener l = { .heard = 0 };
        struct wav wav;
        float block[BLOCK], speech;
        size_t got;
        if (count != 2) {
                fprintf(stderr, "usage: speech SOUND        WAV, 16000 samples a second; -: standard input\n");
                return 1;
        }
        const char *error = wav_open(&wav, arguments[1]);
        if (!error && wav.rate != RATE)
                error = "the network is for 16000 samples a second (sox in.wav -r 16000 out.wav)";
        while (!error && (got = wav_read(&wav, block, BLOCK)) > 0) {
                l.heard += BLOCK;
                if ((speech = listen(&l, block, got)) < 0)
                        error = "the network does not run";
                else
                        judge(&l, speech);
        }
        if (l.speaking)
                tell(&l, l.heard, 0);
        if (error)
                fprintf(stderr, "speech: %s: %s\n", arguments[1], error);
        wav_close(&wav);
        return error ? 2 : 0;
}
