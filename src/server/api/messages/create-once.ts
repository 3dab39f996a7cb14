export interface Created<T> {
  row: T
  isNew: boolean
}

/**
 * One effect for one idempotency key, however many requests hold it at once: what is there already, or what is made now.
 * @param find what the key stands for; undefined where nobody used it, or none was given
 * @param insert undefined where another request took the key in the meantime, which may even have been cancelled since
 */
export async function createOnce<T>(
  find: () => Promise<T | undefined>,
  insert: () => Promise<Created<T> | undefined>,
): Promise<Created<T>> {
  for (;;) {
    const known = await find()
    if (known !== undefined) return { row: known, isNew: false }
    const created = await insert()
    if (created) return created
  }
}
