import { expect, test } from 'vitest'
import type { SnapshotItem } from '../../../../src/core/contract/scanner.ts'
import { createDoorList } from '../../../../src/core/rules/door/door-list.ts'

function item(passId: string, given: Partial<SnapshotItem> = {}): SnapshotItem {
  return {
    passId,
    externalPassId: `ticket-${passId}`,
    label: `Guest ${passId}`,
    templateName: 'Ticket',
    status: 'ISSUED',
    expiresAt: null,
    redemption: null,
    identifiers: [`code-${passId}`],
    staleIdentifiers: [],
    acceptedScans: [],
    ...given,
  }
}

const ids = (items: Iterable<SnapshotItem>) => [...items].map(({ passId }) => passId)

test('a delta changes, adds and removes passes, by everything that they are found by', () => {
  const list = createDoorList([item('a', { groupId: 'g' }), item('b', { groupId: 'g' }), item('c')])
  list.merge({
    items: [
      item('b', { label: 'Ada', identifiers: ['new'], staleIdentifiers: ['code-b'] }),
      item('d', { groupId: 'g' }),
    ],
    removed: ['c', 'never'],
  })
  expect(ids(list.items())).toEqual(['a', 'b', 'd'])
  expect(list.size).toBe(3)
  expect(list.get('c')).toBeUndefined()
  expect(ids(list.membersOf('g'))).toEqual(['a', 'd'])
  expect(list.find('new')).toMatchObject({ items: [{ passId: 'b' }], isStale: false })
  expect(list.find('code-b')).toMatchObject({ items: [{ passId: 'b' }], isStale: true })
  expect(list.find('code-c').items).toEqual([])
  expect(ids(list.search('ada', 5))).toEqual(['b'])
  expect(ids(list.search('guest b', 5))).toEqual([])
})

test('several passes of one code stay apart while they change', () => {
  const list = createDoorList(['c', 'a', 'b'].map((id) => item(id, { identifiers: ['shared'] })))
  expect(ids(list.find('shared').items)).toEqual(['a', 'b', 'c'])
  list.merge({ items: [item('a', { identifiers: ['shared'], label: 'Other' })], removed: ['c'] })
  list.merge({ items: [item('b')] })
  expect(list.find('shared')).toMatchObject({ items: [{ passId: 'a', label: 'Other' }], isStale: false })
  list.merge({ items: [], removed: ['a'] })
  expect(list.find('shared')).toMatchObject({ items: [], isStale: true })
})

test('merging again changes nothing', () => {
  const list = createDoorList([item('a')])
  const delta = { items: [item('a', { status: 'VOID', groupId: 'g' }), item('b')], removed: ['x'] }
  list.merge(delta)
  list.merge(delta)
  expect(ids(list.items())).toEqual(['a', 'b'])
  expect(ids(list.membersOf('g'))).toEqual(['a'])
  expect(list.find('code-a')).toMatchObject({ items: [{ status: 'VOID' }] })
})

test('a name is found without its marks, in any case, and what is called exactly so comes first', () => {
  const names = { a: 'Väinö Wójcik', b: 'wojcik', c: 'ŁUCJA WÓJCIKOWSKA', d: 'Zoë' }
  const list = createDoorList(Object.entries(names).map(([passId, label]) => item(passId, { label })))
  expect(ids(list.search('wojcik', 5))).toEqual(['b', 'a', 'c'])
  expect(ids(list.search('WÓJCIK', 5))).toEqual(['b', 'a', 'c'])
  expect(ids(list.search('zoe', 5))).toEqual(['d'])
  expect(ids(list.search('vaino w', 5))).toEqual(['a'])
})
