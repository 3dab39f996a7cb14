export interface Queue {
  /** Runs the work when everything before it is done. */
  push<T>(work: () => Promise<T>): Promise<T>
  /** Lets what runs come to its end and nothing else begin; resolves to how much never began. */
  stop(): Promise<number>
}

/** One after the other, in their order. `onChange` is told how many are not done. */
export function createQueue(onChange: (waiting: number) => void): Queue {
  const tasks: (() => Promise<void>)[] = []
  let running: Promise<void> | undefined
  let isStopped = false

  async function run(): Promise<void> {
    while (tasks.length > 0 && !isStopped) {
      await tasks[0]!()
      tasks.shift()
      onChange(tasks.length)
    }
    running = undefined
  }

  return {
    push: (work) =>
      new Promise((resolve, reject) => {
        tasks.push(() => work().then(resolve, reject))
        onChange(tasks.length)
        running ??= run()
      }),
    async stop() {
      isStopped = true
      await running
      return tasks.length
    },
  }
}
