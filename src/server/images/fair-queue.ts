/** Runs one piece of work at a time; those who wait take turns, however much one of them brought. */
export interface FairQueue {
  /**
   * Resolves or rejects as the work does.
   * @throws QueueFull at once, where the owner, or all together, wait with as much as they may
   */
  run<T>(owner: string, work: () => Promise<T>): Promise<T>
}

export class QueueFull extends Error {
  override readonly name = 'QueueFull'
  /** Whether the owner alone brought too much; else all together did. */
  readonly isOwners: boolean

  constructor(isOwners: boolean) {
    super('The queue is full')
    this.isOwners = isOwners
  }
}

export interface FairQueueOptions {
  /** Pieces that one owner has waiting or running, and all owners together. */
  maxOfOwner: number
  max: number
}

export function createFairQueue({ maxOfOwner, max }: FairQueueOptions): FairQueue {
  /** Whose turn it is next stands first. */
  const waiting = new Map<string, (() => Promise<void>)[]>()
  const counts = new Map<string, number>()
  let total = 0
  let isRunning = false

  async function pump(): Promise<void> {
    if (isRunning) return
    isRunning = true
    for (let [first] = waiting; first; [first] = waiting) {
      const [owner, [work, ...rest]] = first
      waiting.delete(owner)
      if (rest.length > 0) waiting.set(owner, rest)
      await work!()
    }
    isRunning = false
  }

  function count(owner: string, change: 1 | -1): void {
    const left = (counts.get(owner) ?? 0) + change
    total += change
    if (left > 0) counts.set(owner, left)
    else counts.delete(owner)
  }

  return {
    run(owner, work) {
      const isOwners = (counts.get(owner) ?? 0) >= maxOfOwner
      if (isOwners || total >= max) return Promise.reject(new QueueFull(isOwners))
      count(owner, 1)
      return new Promise((resolve, reject) => {
        const task = () =>
          work()
            .finally(() => count(owner, -1))
            .then(resolve, reject)
        waiting.set(owner, [...(waiting.get(owner) ?? []), task])
        void pump()
      })
    },
  }
}
