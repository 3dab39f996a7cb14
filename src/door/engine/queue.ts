/** Creates a queue, which runs tasks one at a time, in order, until it is stopped. */
export function createQueue() {
  let last: Promise<unknown> = Promise.resolve()
  let isStopped = false
  return {
    run<T>(work: () => Promise<T>): Promise<T> {
      const result = last.then(() => {
        if (isStopped) throw new StoppedError('The engine was stopped')
        return work()
      })
      last = result.catch(() => undefined)
      return result
    },
    async stop(): Promise<void> {
      isStopped = true
      await last
    },
  }
}

class StoppedError extends Error {
  override readonly name = 'StoppedError'
}

/** Returns a promise that never settles if the queue was stopped before the task. @throws any other error */
export function neverIfStopped(error: unknown): Promise<never> {
  if (error instanceof StoppedError) return new Promise(() => undefined)
  throw error
}
