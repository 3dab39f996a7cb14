import { describe, expect, test } from 'vitest'
import { grouped } from '../../../src/storage/db/grouped.ts'

/** Creates work that records its sets and ends when the test releases it. */
function startWork(outcome: (item: string) => string = (item) => item, mostOfKey = 1) {
  const sets: string[][] = []
  const scope = {}
  const gates: (() => void)[] = []
  const together = grouped(
    async (_: object, take: () => string[]) => {
      await new Promise<void>((resolve) => gates.push(resolve))
      const items = take()
      sets.push(items)
      return items.map(outcome)
    },
    { keyOf: (item) => item.split(' ')[1], mostOfKey, canWait: (item) => item.startsWith('late') },
  )
  return {
    sets,
    scope,
    do: (item: string, of: object = scope) => together(of, item),
    /** Releases groups until no item waits. */
    async finish() {
      for (let idle = 0; idle < 20; idle += 1) {
        const gate = gates.shift()
        if (gate) idle = 0
        gate?.()
        await Promise.resolve()
      }
    },
    gates,
  }
}

describe('work that is done together', () => {
  test('a single item starts immediately, with the items that arrive before its set is taken', async () => {
    const work = startWork((item) => `${item}!`)
    const all = Promise.all(['a', 'b', 'c'].map((item) => work.do(item)))
    expect(work.gates).toHaveLength(1)
    await work.finish()
    expect(await all).toEqual(['a!', 'b!', 'c!'])
    expect(work.sets).toEqual([['a', 'b', 'c']])
  })

  test('items that arrive while a set runs form the next set', async () => {
    const sets: number[][] = []
    let inner: Promise<number[]> | undefined
    const together = grouped(async (_: object, take: () => number[]) => {
      const items = take()
      sets.push(items)
      inner ??= Promise.all([2, 3].map((item) => together(scope, item)))
      return items
    })
    const scope = {}
    expect(await together(scope, 1)).toBe(1)
    expect(await inner).toEqual([2, 3])
    expect(sets).toEqual([[1], [2, 3]])
  })

  test('items of one key are never in one set, and keep their order', async () => {
    const work = startWork()
    const all = Promise.all(['a x', 'b x', 'c y', 'd x', 'e', 'f'].map((item) => work.do(item)))
    await work.finish()
    await all
    expect(work.sets).toEqual([['a x', 'c y', 'e', 'f'], ['b x'], ['d x']])
  })

  test('a set contains items of one key in their order if it can have several, and the rest follow', async () => {
    const work = startWork((item) => item, 2)
    const all = Promise.all(['a x', 'b x', 'c y', 'd x', 'e', 'f y'].map((item) => work.do(item)))
    await work.finish()
    await all
    expect(work.sets).toEqual([['a x', 'b x', 'c y', 'e', 'f y'], ['d x']])
  })

  test('deferrable items of a key join the set of later ones if it can have several', async () => {
    const work = startWork((item) => item, 8)
    const can = Array.from({ length: 32 }, (_, n) => `late${n}`)
    const all = Promise.all([...can, 'late x', 'late x2', 'late y', 'a y'].map((item) => work.do(item)))
    await work.finish()
    await all
    expect(work.sets).toEqual([
      [...can, 'late y', 'a y'],
      ['late x', 'late x2'],
    ])
  })

  test('a set has a maximum size, and later items keep their order', async () => {
    const work = startWork()
    const items = Array.from({ length: 300 }, (_, n) => `${n}`)
    const all = Promise.all(items.map((item) => work.do(item)))
    await work.finish()
    expect(await all).toEqual(items)
    expect(work.sets.map(({ length }) => length)).toEqual([128, 128, 44])
    expect(work.sets.flat()).toEqual(items)
  })

  test('items that a person waits for precede deferrable ones, and each set takes a few deferrable ones', async () => {
    const work = startWork()
    const can = Array.from({ length: 70 }, (_, n) => `late${n}`)
    const all = Promise.all([...can, 'a', 'b'].map((item) => work.do(item)))
    await work.finish()
    await all
    expect(work.sets.map(({ length }) => length)).toEqual([34, 32, 6])
    expect(work.sets[0]!.slice(-2)).toEqual(['a', 'b'])
    expect(work.sets.flat().filter((item) => item.startsWith('late'))).toEqual(can)
  })

  test('a deferrable item precedes later ones of its key, even those that a person waits for', async () => {
    const work = startWork()
    const can = Array.from({ length: 40 }, (_, n) => `late${n}`)
    const all = Promise.all([...can, 'late x', 'a x', 'late y'].map((item) => work.do(item)))
    await work.finish()
    await all
    expect(work.sets[0]).toEqual([...can.slice(0, 32), 'late x'])
    expect(work.sets[1]).toEqual([...can.slice(32), 'a x', 'late y'])
  })

  test('scopes have separate sets', async () => {
    const work = startWork()
    const all = Promise.all([work.do('a'), work.do('b', {}), work.do('c')])
    await work.finish()
    await all
    expect(work.sets.toSorted()).toEqual([['a', 'c'], ['b']])
  })

  test('a failed set is retried one item at a time in order, so that only the faulty item fails', async () => {
    const work = startWork((item) => {
      if (item.startsWith('bad')) throw new Error(item)
      return item
    })
    const all = Promise.allSettled(['a x', 'bad y', 'c', 'd x'].map((item) => work.do(item)))
    await work.finish()
    expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(work.sets).toEqual([['a x', 'bad y', 'c'], ['a x'], ['bad y'], ['c'], ['d x']])
  })

  test('a missing database fails the whole set at once, since the commit is unknown', async () => {
    const work = startWork(() => {
      throw Object.assign(new Error('lost'), { code: 'ECONNRESET' })
    })
    const all = Promise.allSettled(['a', 'b'].map((item) => work.do(item)))
    await work.finish()
    expect((await all).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(work.sets).toEqual([['a', 'b']])
  })

  test('if a turn does not start, its waiting items are rejected, and later ones are not', async () => {
    let refuse: (error: Error) => void = () => undefined
    let turns = 0
    const together = grouped(async (_: object, take: () => string[]) => {
      turns += 1
      if (turns === 1) await new Promise((_resolve, reject) => (refuse = reject))
      return take()
    })
    const scope = {}
    const early = together(scope, 'early')
    const late = together(scope, 'late')
    refuse(new Error('no turn'))
    await expect(early).rejects.toThrow('no turn')
    expect(await late).toBe('late')
  })
})
