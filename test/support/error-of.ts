/** Returns the error of an attempt. Fails if the attempt succeeds. */
export async function errorOf(attempt: PromiseLike<unknown>): Promise<unknown> {
  try {
    await attempt
  } catch (error) {
    return error
  }
  throw new Error('It was expected to fail')
}
