/* SPDX-License-Identifier: Apache-2.0 */
/* The predicted time of a product, in C: consumer_c [DEVICE] */
#include <stdio.h>
#include <tilescope/tilescope.h>

int main(int argc, char** argv) {
  tilescope_messages* messages = tilescope_messages_new();
  tilescope_chip* chip = tilescope_chip_open(argc > 1 ? argv[1] : "v100", messages);
  tilescope_work* work = tilescope_work_operator("C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=512,k=512", "", "", messages);
  tilescope_table* best = tilescope_predict(work, chip, NULL, messages);
  if (best != NULL) printf("predicted_us %.3f\n", tilescope_table_number_of(best, 0, "predicted_us"));
  for (size_t i = 0; i < tilescope_messages_count(messages); ++i) {
    const tilescope_message m = tilescope_messages_at(messages, i);
    fprintf(stderr, "%s:%u:%u: %s\n", m.input, m.line, m.column, m.text);
  }
  const int status = best == NULL ? 2 : 0;
  if (best != NULL) tilescope_table_free(best);
  tilescope_work_free(work);
  tilescope_chip_free(chip);
  tilescope_messages_free(messages);
  return status;
}
