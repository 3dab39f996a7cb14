import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  FairQueue,
  type FairQueueOptions,
  type Leave,
  type Rejection,
  type TurnOptions,
} from '../../../src/server/admission/fair-queue.ts'

const reject = (reason: Rejection) => Object.assign(new Error(reason), { reason })

let time = 0
beforeEach(() => {
  time = 0
})
afterEach(() => void vi.useRealTimers())

/** A queue whose turns take a time of the test's clock. */
function openQueue(options: FairQueueOptions) {
  const queue = new FairQueue({ now: () => time, ...options })
  const order: string[] = []
  const running: { flow: string; id: string; leave: Leave }[] = []
  let count = 0
  return {
    queue,
    order,
    running,
    ask(flow: string, turn?: TurnOptions): Promise<void> {
      count += 1
      const id = `${flow}${count}`
      return queue.enter(flow, turn).then((leave) => {
        order.push(id)
        running.push({ flow, id, leave })
      })
    },
    /** Ends the turn that started first, after a time. */
    async end(ms = 0, index = 0): Promise<void> {
      time += ms
      running.splice(index, 1)[0]!.leave()
      await settled()
    },
    flowsOf: () => order.map((id) => id.replaceAll(/\d/g, '')).join(''),
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

const flows = fc.constantFrom('a', 'b', 'c')

test('no flow with a backlog gets less than its share over any window, by its weight', async () => {
  const costs = fc.record({ a: fc.integer({ min: 1, max: 50 }), b: fc.integer({ min: 1, max: 50 }) })
  const weights = fc.record({ a: fc.constantFrom(1, 2, 4), b: fc.constantFrom(1, 2, 4) })
  await fc.assert(
    fc.asyncProperty(costs, weights, fc.integer({ min: 0, max: 20 }), async (cost, weight, alone) => {
      time = 0
      const { ask, end, running } = openQueue({ places: 1 })
      const served: { flow: 'a' | 'b'; cost: number }[] = []
      const serve = async () => {
        const flow = running[0]!.flow as 'a' | 'b'
        served.push({ flow, cost: cost[flow] })
        await end(cost[flow])
      }
      for (let n = 0; n < 100; n += 1) void ask('a', { weight: weight.a })
      await settled()
      for (let n = 0; n < alone; n += 1) await serve()
      for (let n = 0; n < 60; n += 1) void ask('b', { weight: weight.b })
      // The turn that runs began before `b` had a backlog.
      await serve()
      served.length = 0
      for (let n = 0; n < 50; n += 1) await serve()
      // The bound of start-time fair queueing: one turn of each flow.
      const bound = cost.a / weight.a + cost.b / weight.b
      for (let from = 0; from < served.length; from += 1) {
        const work = { a: 0, b: 0 }
        for (const one of served.slice(from)) {
          work[one.flow] += one.cost / weight[one.flow]
          expect(Math.abs(work.a - work.b)).toBeLessThanOrEqual(bound + 1e-6)
        }
      }
    }),
  )
})

test('starts a turn of the flow with the smallest start tag, as computed from the log of all turns, in FIFO order', async () => {
  const step = fc.record({ flow: flows, isEnd: fc.boolean(), ms: fc.integer({ min: 1, max: 30 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      time = 0
      const { ask, end, running, order } = openQueue({ places: 1 })
      const log: { flow: string; start: number; cost: number }[] = []
      let waiting: string[] = []
      let count = 0
      const flowOf = (id: string) => id[0]!
      const tagOf = (flow: string) => {
        const last = log.findLast((turn) => turn.flow === flow)
        return Math.max(log.at(-1)?.start ?? 0, last ? last.start + last.cost : 0)
      }
      const checkStart = () => {
        const id = order.at(-1)!
        const tag = tagOf(flowOf(id))
        expect(tag).toBe(Math.min(...waiting.map((other) => tagOf(flowOf(other)))))
        expect(waiting.find((other) => flowOf(other) === flowOf(id))).toBe(id)
        waiting = waiting.filter((other) => other !== id)
        log.push({ flow: flowOf(id), start: tag, cost: 0 })
      }
      const endOne = async (ms: number) => {
        log.at(-1)!.cost = ms
        await end(ms)
        if (running.length > 0) checkStart()
      }
      for (const { flow, isEnd, ms } of steps) {
        if (isEnd && running.length > 0) await endOne(ms)
        if (isEnd) continue
        const wasIdle = running.length === 0
        count += 1
        waiting.push(`${flow}${count}`)
        void ask(flow)
        await settled()
        if (wasIdle) checkStart()
      }
      while (running.length > 0) await endOne(1)
      expect(order).toHaveLength(count)
    }),
  )
})

test('uses every place that is wanted, and none beyond the places of all and of one flow', async () => {
  const step = fc.record({ flow: flows, isEnd: fc.boolean(), index: fc.nat({ max: 2 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { ask, end, running, order } = openQueue({ places: 3, perFlow: 2 })
      const asked = { a: 0, b: 0, c: 0 }
      for (const { flow, isEnd, index } of steps) {
        if (isEnd && running.length > index) await end(1, index)
        if (isEnd) continue
        asked[flow] += 1
        void ask(flow)
        await settled()
        expect(running.length).toBeLessThanOrEqual(3)
        for (const one of ['a', 'b', 'c'] as const) {
          const inWork = running.filter((turn) => turn.flow === one).length
          expect(inWork).toBeLessThanOrEqual(2)
          const isWaiting = order.filter((id) => id[0] === one).length < asked[one]
          if (isWaiting) expect(inWork === 2 || running.length === 3).toBe(true)
        }
      }
      while (running.length > 0) await end(1)
      expect(order).toHaveLength(asked.a + asked.b + asked.c)
    }),
  )
})

test('a flow that was idle does not catch up: it shares from then on', async () => {
  const { ask, end, flowsOf } = openQueue({ places: 1 })
  void ask('b')
  for (let n = 0; n < 20; n += 1) void ask('a')
  await settled()
  for (let n = 0; n < 11; n += 1) await end(100)
  for (let n = 0; n < 10; n += 1) void ask('b')
  for (let n = 0; n < 8; n += 1) await end(100)
  expect(flowsOf()).toBe(`b${'a'.repeat(11)}babababa`)
})

test('a flow that used less goes first until its savings are used up', async () => {
  const { ask, end, flowsOf } = openQueue({ places: 1, savingsMs: 30 })
  for (let n = 0; n < 20; n += 1) void ask('a')
  await settled()
  for (let n = 0; n < 5; n += 1) await end(100)
  for (let n = 0; n < 10; n += 1) void ask('b')
  for (let n = 0; n < 6; n += 1) await end(10)
  // Three turns of 10 ms with the savings, and one more, since turns of `a` and `b` then start with the same time.
  expect(flowsOf()).toBe(`aaaaaa${'bbbb'}ab`)
})

test('a flow that used more stays behind one that used less, also after the queue was idle', async () => {
  const { ask, end, flowsOf } = openQueue({ places: 1 })
  void ask('a')
  await settled()
  await end(100)
  void ask('c')
  void ask('a')
  void ask('b')
  await settled()
  await end(10)
  expect(flowsOf()).toBe('acb')
})

test('a light flow waits for one turn of a heavy one, no matter how many wait', async () => {
  const { ask, end, flowsOf } = openQueue({ places: 1 })
  for (let n = 0; n < 20; n += 1) void ask('a')
  await settled()
  await end(100)
  for (let n = 0; n < 5; n += 1) {
    void ask('b')
    await end(n === 0 ? 100 : 5)
  }
  expect(flowsOf()).toBe('aabbbbb')
})

test('a flow that used more has fewer turns at a time while another one is present', async () => {
  const { ask, end, flowsOf } = openQueue({ places: 4, perFlow: 3, perFlowShared: 1 })
  for (let n = 0; n < 3; n += 1) void ask('a')
  await settled()
  expect(flowsOf()).toBe('aaa')
  await end(10)
  void ask('b')
  void ask('a')
  void ask('b')
  await settled()
  expect(flowsOf()).toBe('aaabb')
  await end()
  expect(flowsOf()).toBe('aaabb')
  // A second after the last turn of `b` began, it is not present any more.
  await end(1_001)
  expect(flowsOf()).toBe('aaabba')
})

test('turns that run count, so that a flow with long turns does not get a second place first', async () => {
  const { ask, end, flowsOf } = openQueue({ places: 2 })
  void ask('a')
  void ask('b')
  void ask('a')
  void ask('c')
  await settled()
  await end(50, 1)
  expect(flowsOf()).toBe('abc')
})

test('cancelled waits leave no trace', async () => {
  vi.useFakeTimers()
  const queue = new FairQueue({ places: 1, reject })
  const leave = await queue.enter('a')
  const late = expect(queue.enter('b', { timeoutMs: 5_000 })).rejects.toMatchObject({ reason: 'timeout' })
  const patient = queue.enter('c', { timeoutMs: 6_000 })
  await vi.advanceTimersByTimeAsync(5_000)
  await late
  expect(queue.size).toBe(2)
  leave()
  // A second call ends nothing else.
  leave()
  const leaveLast = await patient
  expect(vi.getTimerCount()).toBe(0)
  leaveLast()
})

test('rejects what is beyond the bounds of the queue and of a flow at once', async () => {
  const queue = new FairQueue({ places: 1, max: 3, maxPerFlow: 2, reject })
  const leave = await queue.enter('a')
  const waiting = [queue.enter('a')]
  await expect(queue.enter('a')).rejects.toMatchObject({ reason: 'flow-full' })
  waiting.push(queue.enter('b'))
  await expect(queue.enter('c')).rejects.toMatchObject({ reason: 'full' })
  leave()
  await Promise.all(waiting.map((turn) => turn.then((end) => end())))
  await expect(queue.run('c', async () => 'done')).resolves.toBe('done')
})

test('work that fails ends its turn', async () => {
  const queue = new FairQueue({ places: 1 })
  const failing = queue.run('a', () => Promise.reject(new Error('no')))
  const next = queue.run('a', async () => 'done')
  await expect(failing).rejects.toThrow('no')
  await expect(next).resolves.toBe('done')
})

test('remembers a bounded number of flows in a queue that is never idle', async () => {
  const queue = new FairQueue({ places: 2, now: () => (time += 1) })
  await queue.enter('long')
  for (let n = 0; n < 3_000; n += 1) (await queue.enter(`flow ${n}`))()
  expect(queue.size).toBeLessThanOrEqual(1_001)
})
