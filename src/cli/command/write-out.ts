/**
 * Writes to stdout and waits until it is taken, so that a slow reader holds the writer back. False where nobody reads
 * any more, as behind `| head`.
 */
export function writeOut(content: string | Uint8Array): Promise<boolean> {
  return new Promise((resolve, reject) => {
    process.stdout.write(content, (error) => {
      if (!error) resolve(true)
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') resolve(false)
      else reject(error)
    })
  })
}
