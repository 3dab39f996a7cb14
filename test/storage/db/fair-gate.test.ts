import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { FairGate, type Party } from '../../../src/storage/db/fair-gate.ts'

test('keeps each party within its share and all within the places, and leaves no wanted place empty', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ party: fc.constantFrom('a', 'b', 'c'), isLeave: fc.boolean() }), { maxLength: 60 }),
      async (steps) => {
        const [places, share] = [3, 2]
        const gate = new FairGate({ places, share })
        const inside = new Map([...'abc'].map((party) => [party, 0]))
        const wanted = new Map([...'abc'].map((party) => [party, 0]))
        const add = (counts: Map<string, number>, party: string, n: number) => counts.set(party, counts.get(party)! + n)
        const total = () => [...inside.values()].reduce((sum, n) => sum + n, 0)
        const leaving: string[] = []
        for (const { party, isLeave } of steps) {
          if (!isLeave) {
            add(wanted, party, 1)
            void gate.enter(partyOf(party)).then(() => {
              add(wanted, party, -1)
              add(inside, party, 1)
            })
          } else if (inside.get(party)! > 0) {
            add(inside, party, -1)
            gate.leave(partyOf(party))
          }
          await settled()
          expect(total()).toBeLessThanOrEqual(places)
          for (const [one, n] of inside) {
            expect(n).toBeLessThanOrEqual(share)
            if (wanted.get(one)! > 0) expect(n === share || total() === places).toBe(true)
          }
        }
        // Admit the remaining waiters.
        while (total() > 0) {
          for (const [party, n] of inside) for (let left = n; left > 0; left -= 1) leaving.push(party)
          for (const party of leaving.splice(0)) {
            add(inside, party, -1)
            gate.leave(partyOf(party))
          }
          await settled()
        }
        expect([...wanted.values()]).toEqual([0, 0, 0])
      },
    ),
  )
})

test('gives a place to the party with the fewest turns, and among equals to the one with the least time', async () => {
  vi.useFakeTimers()
  try {
    const { order, enter, stay } = watched(new FairGate({ places: 2, share: 2 }))
    for (const party of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) enter(party)
    for (const party of ['a', 'b', 'a', 'c']) await stay(party, 10)
    // The turns of a took 10 and 30 ms, and that of b took 10 ms.
    expect(order).toEqual(['a', 'a', 'b', 'c', 'b', 'a'])
  } finally {
    vi.useRealTimers()
  }
})

test('long jobs do not delay short jobs, and requests get twice the time of jobs', async () => {
  vi.useFakeTimers()
  try {
    const { order, enter, stay } = watched(new FairGate({ places: 1, share: 1 }))
    const stays: Record<string, number> = { 'jobs of long': 60, 'jobs of short': 10, requests: 20, 'jobs of new': 10 }
    for (const party of ['jobs of long', 'jobs of short', 'requests']) for (let n = 0; n < 30; n += 1) enter(party)
    await vi.advanceTimersByTimeAsync(0)
    for (let n = 0; n < 30; n += 1) await stay(order.at(-1)!, stays[order.at(-1)!]!)
    const timeOf = (name: string) => order.slice(0, 30).filter((party) => party === name).length * stays[name]!
    const [long, short] = [timeOf('jobs of long'), timeOf('jobs of short')]
    expect(Math.abs(long - short)).toBeLessThanOrEqual(60)
    expect(Math.abs(timeOf('requests') - 2 * (long + short))).toBeLessThanOrEqual(2 * 60)
    // An idle party does not save up turns.
    for (let n = 0; n < 10; n += 1) enter('jobs of new')
    const before = order.length
    for (let n = 0; n < 6; n += 1) await stay(order.at(-1)!, stays[order.at(-1)!]!)
    expect(order.slice(before).filter((party) => party === 'jobs of new').length).toBeLessThanOrEqual(3)
  } finally {
    vi.useRealTimers()
  }
})

test('a workspace has one turn for its requests and its jobs, whose time does not delay its requests', async () => {
  vi.useFakeTimers()
  try {
    const { order, enter, stay } = watched(new FairGate({ places: 1, share: 1 }))
    for (const party of ['jobs of a', 'jobs of a', 'b', 'b', 'a', 'a']) enter(party)
    const stays: Record<string, number> = { a: 20, b: 20, 'jobs of a': 30 }
    for (let n = 0; n < 5; n += 1) await stay(order.at(-1) ?? 'jobs of a', stays[order.at(-1) ?? 'jobs of a']!)
    expect(order).toEqual(['jobs of a', 'b', 'a', 'b', 'a', 'jobs of a'])
  } finally {
    vi.useRealTimers()
  }
})

test('visits count toward the time of their workspace, and do not delay its requests', async () => {
  vi.useFakeTimers()
  try {
    const { order, enter, stay } = watched(new FairGate({ places: 1, share: 1 }))
    for (const party of ['visits of a', 'visits of a', 'visits of a', 'a', 'visits of b', 'b']) enter(party)
    for (let n = 0; n < 5; n += 1) await stay(order.at(-1) ?? 'visits of a', 10)
    expect(order).toEqual(['visits of a', 'visits of b', 'a', 'b', 'visits of a', 'visits of a'])

    const several = watched(new FairGate({ places: 4, share: 2 }))
    for (const party of ['visits of a', 'visits of a', 'visits of a', 'a', 'b']) several.enter(party)
    await several.stay('visits of a', 10)
    expect(several.order).toEqual(['visits of a', 'visits of a', 'b', 'a'])
  } finally {
    vi.useRealTimers()
  }
})

test('the party of the last turn follows one without a turn, even if no other waited in between', async () => {
  vi.useFakeTimers()
  try {
    const { order, enter, stay } = watched(new FairGate({ places: 1, share: 1 }))
    enter('often')
    await stay('often', 50)
    for (const party of ['other', 'often', 'rare']) enter(party)
    await stay('other', 10)
    await stay('rare', 10)
    expect(order).toEqual(['often', 'other', 'rare', 'often'])
  } finally {
    vi.useRealTimers()
  }
})

test('a party that used less precedes others until its limited savings are used', async () => {
  vi.useFakeTimers()
  try {
    const { order, enter, stay } = watched(new FairGate({ places: 1, share: 1, savingsMs: 30 }))
    for (let n = 0; n < 20; n += 1) enter('jobs of much')
    for (let n = 0; n < 5; n += 1) await stay('jobs of much', 100)
    for (let n = 0; n < 20; n += 1) enter('jobs of little')
    await stay('jobs of much', 10)
    const before = order.length
    for (let n = 0; n < 8; n += 1) await stay(order.at(-1)!, 10)
    const turns = order.slice(before - 1, -1)
    expect(turns.map((party) => party.replace('jobs of ', '')[0]).join('')).toBe('lllllmlm')
  } finally {
    vi.useRealTimers()
  }
})

test('a party that waits too long is rejected with a retry time, and its place goes to others', async () => {
  vi.useFakeTimers()
  try {
    const gate = new FairGate({ places: 1, share: 1 })
    await gate.enter(partyOf('a'))
    const refused = expect(gate.enter(partyOf('b'), 5_000)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      status: 503,
      headers: { 'retry-after': '1' },
    })
    await vi.advanceTimersByTimeAsync(5_000)
    await refused
    const patient = gate.enter(partyOf('c'))
    gate.leave(partyOf('a'))
    await patient
    gate.leave(partyOf('c'))
    await gate.enter(partyOf('b'))
  } finally {
    vi.useRealTimers()
  }
})

test('a heavy user has a smaller share next to a neighbor, which keeps its full share', async () => {
  vi.useFakeTimers()
  try {
    const gate = new FairGate({ places: 10, share: 3, shareWithNeighbors: 1 })
    const { order, enter, stay } = watched(gate)
    const come = async (...parties: string[]) => {
      order.length = 0
      for (const party of parties) enter(party)
      await vi.advanceTimersByTimeAsync(0)
      return order
    }
    expect(await come('server', 'much', 'much', 'much')).toEqual(['server', 'much', 'much', 'much'])
    for (const party of ['much', 'much', 'much']) await stay(party, 10)
    expect(await come('little', 'much')).toEqual(['little', 'much'])
    await stay('little', 1)
    expect(await come('much', 'little', 'little')).toEqual(['little', 'little'])
    // After the neighbor has left, waiting work enters with the next exit, and other work immediately.
    await vi.advanceTimersByTimeAsync(1_001)
    expect(await come('much')).toEqual(['much'])
    await stay('much', 0)
    expect(order).toEqual(['much', 'much'])
  } finally {
    vi.useRealTimers()
  }
})

test('a heavy user notices a neighbor that used less, although a third workspace that used more came later', async () => {
  vi.useFakeTimers()
  try {
    const gate = new FairGate({ places: 10, share: 3, shareWithNeighbors: 1 })
    const { order, enter, stay } = watched(gate)
    for (const party of ['little', 'much', 'most']) enter(party)
    await stay('little', 1)
    await stay('much', 9)
    await stay('most', 90)
    for (const party of ['little', 'most', 'much', 'much', 'most']) enter(party)
    await vi.advanceTimersByTimeAsync(0)
    expect(order.slice(3)).toEqual(['little', 'most', 'much'])
    await stay('little', 1)
    await stay('most', 1)
    expect(order.slice(6)).toEqual(['most'])
  } finally {
    vi.useRealTimers()
  }
})

test('the workspace that used less recently is the lighter one, although another had the first turns', async () => {
  vi.useFakeTimers()
  try {
    const gate = new FairGate({ places: 10, share: 3, shareWithNeighbors: 1 })
    const { order, enter, stay } = watched(gate)
    enter('much')
    await stay('much', 90)
    for (const party of ['much', 'little']) enter(party)
    await stay('little', 20)
    for (const party of ['much', 'much', 'little', 'little']) enter(party)
    await vi.advanceTimersByTimeAsync(0)
    expect(order.slice(3)).toEqual(['little', 'little'])
  } finally {
    vi.useRealTimers()
  }
})

test('separates the places of requests and jobs, whose workspace has one smaller share next to a neighbor', async () => {
  vi.useFakeTimers()
  try {
    const gate = new FairGate({ places: 2, share: 2, shareWithNeighbors: 1, separatesRequests: true })
    const { order, enter, stay } = watched(gate)
    for (const party of ['much', 'much', 'much', 'jobs of much']) enter(party)
    await vi.advanceTimersByTimeAsync(0)
    expect(order).toEqual(['much', 'much', 'jobs of much'])
    await stay('much', 10)
    await stay('much', 10)
    for (const party of ['little', 'jobs of much', 'much']) enter(party)
    await stay('jobs of much', 10)
    expect(order.slice(3)).toEqual(['much', 'little'])
    await stay('much', 1)
    // The turns alternate.
    expect(order.slice(5)).toEqual(['much'])
    await stay('much', 1)
    expect(order.slice(6)).toEqual(['jobs of much'])
  } finally {
    vi.useRealTimers()
  }
})

/** Returns the requests of a name, `visits of NAME`, `jobs of NAME`, or the work of the `server`. */
function partyOf(text: string): Party {
  if (text === 'server') return { name: text, work: 'server' }
  const [name, work = 'requests'] = text.split(' of ').toReversed()
  return { name: name!, work: work as Party['work'] }
}

/** Records which parties enter a gate. Each turn takes a time of the fake clock. */
function watched(gate: FairGate) {
  const order: string[] = []
  return {
    order,
    enter: (party: string) => void gate.enter(partyOf(party)).then(() => order.push(party)),
    async stay(party: string, ms: number) {
      await vi.advanceTimersByTimeAsync(ms)
      gate.leave(partyOf(party))
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
