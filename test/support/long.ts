/** Set by PASSES_LONG_TESTS=1, for what a change touches that random input or many repetitions must prove: see CONTRIBUTING.md. */
export const isLong = process.env.PASSES_LONG_TESTS === '1'

/** Returns the number of tries: `brief` in every test run, and `long` in the long form. */
export function times(brief: number, long: number): number {
  return isLong ? long : brief
}
