/** What an attempt is refused with; fails where it is not. */
export async function errorOf(attempt: PromiseLike<unknown>): Promise<unknown> {
  try {
    await attempt
  } catch (error) {
    return error
  }
  throw new Error('It was expected to fail')
}
