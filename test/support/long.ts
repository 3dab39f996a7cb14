/** Whether PASSES_LONG_TESTS=1 is set, which runs tests with more random input and repetitions: see CONTRIBUTING.md. */
export const isLong = process.env.PASSES_LONG_TESTS === '1'

/** Returns the number of tries: `brief` in every test run, and `long` in the long form. */
export function times(brief: number, long: number): number {
  return isLong ? long : brief
}
