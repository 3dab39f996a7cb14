import { readFile } from 'node:fs/promises'

/** Works with a file that the user named: Node's own error leaves the name out where a folder stands there. */
export async function withName<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Error) Object.assign(error, { path })
    throw error
  }
}

export function readNamed(path: string): Promise<Buffer> {
  return withName(path, () => readFile(path))
}
