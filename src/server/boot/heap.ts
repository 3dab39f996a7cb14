import { setFlagsFromString } from 'node:v8'

/** V8 collects the whole heap once it has grown by so much of what the last collection left, in percent. */
const GROWTH_PERCENT = 200

/**
 * Has V8 wait with a collection of the whole heap until it is three times as large as after the last. It counts the bytes of
 * buffers too, and lets a small heap grow by less than they come to between two collections of young objects: packages of
 * 100 KB then had it collect everything up to ten times a second, a fifth of what they cost. Beside a limit
 * (`--max-old-space-size`) it still collects earlier.
 */
export function letHeapGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
