import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { FairGate } from '../../src/storage/fair-gate.ts'

test('no party has more than its share, nor all together more than the places, and no place stays empty that is wanted', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ party: fc.constantFrom('a', 'b', 'c'), isLeave: fc.boolean() }), { maxLength: 60 }),
      async (steps) => {
        const [places, share] = [3, 2]
        const gate = new FairGate({ places, shareOf: () => share })
        const inside = new Map([...'abc'].map((party) => [party, 0]))
        const wanted = new Map([...'abc'].map((party) => [party, 0]))
        const add = (counts: Map<string, number>, party: string, n: number) => counts.set(party, counts.get(party)! + n)
        const total = () => [...inside.values()].reduce((sum, n) => sum + n, 0)
        const leaving: string[] = []
        for (const { party, isLeave } of steps) {
          if (!isLeave) {
            add(wanted, party, 1)
            void gate.enter(party).then(() => {
              add(wanted, party, -1)
              add(inside, party, 1)
            })
          } else if (inside.get(party)! > 0) {
            add(inside, party, -1)
            gate.leave(party)
          }
          await settled()
          expect(total()).toBeLessThanOrEqual(places)
          for (const [one, n] of inside) {
            expect(n).toBeLessThanOrEqual(share)
            if (wanted.get(one)! > 0) expect(n === share || total() === places).toBe(true)
          }
        }
        // Whoever still waits comes in.
        while (total() > 0) {
          for (const [party, n] of inside) for (let left = n; left > 0; left -= 1) leaving.push(party)
          for (const party of leaving.splice(0)) {
            add(inside, party, -1)
            gate.leave(party)
          }
          await settled()
        }
        expect([...wanted.values()]).toEqual([0, 0, 0])
      },
    ),
  )
})

test('a place goes to who has the fewest, and of those to who had no turn for the longest', async () => {
  const gate = new FairGate({ places: 2, shareOf: () => 2 })
  const order: string[] = []
  const enter = (party: string) => void gate.enter(party).then(() => order.push(party))
  for (const party of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) enter(party)
  await settled()
  for (const party of ['a', 'b', 'a', 'c']) {
    gate.leave(party)
    await settled()
  }
  expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'b'])
})

test('who waits for too long is refused and told to come back, and its place goes to others', async () => {
  vi.useFakeTimers()
  try {
    const gate = new FairGate({ places: 1, shareOf: () => 1 })
    await gate.enter('a')
    const refused = expect(gate.enter('b', 5_000)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      status: 503,
      headers: { 'retry-after': '1' },
    })
    await vi.advanceTimersByTimeAsync(5_000)
    await refused
    const patient = gate.enter('c')
    gate.leave('a')
    await patient
    gate.leave('c')
    await gate.enter('b')
  } finally {
    vi.useRealTimers()
  }
})

const settled = () => new Promise((resolve) => setImmediate(resolve))
