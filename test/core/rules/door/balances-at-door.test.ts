import { describe, expect, test } from 'vitest'
import type { SnapshotItem } from '../../../../src/core/contract/scans/scanner.ts'
import { balancesAtDoor } from '../../../../src/core/rules/door/balances-at-door.ts'
import { evaluateOffline } from '../../../../src/core/rules/door/evaluate-offline.ts'
import { acceptedScans, countUnsentUses, type OwnScan } from '../../../../src/core/rules/door/own-scans.ts'
import { balanceField, doorLanguage } from '../../../../src/core/rules/redemption/scan-message.ts'
import { type SpokenLanguage, spokenLanguages } from '../../../../src/locales/languages.ts'

type Listed = NonNullable<SnapshotItem['balances']>[number]

const credit: Listed = {
  name: 'credit',
  label: 'Credit',
  currency: 'EUR',
  value: 1_000,
  min: 0,
  max: null,
  delta: -300,
  offlineAllowance: 600,
}
const stamps: Listed = { ...credit, name: 'stamps', label: 'Stamps', currency: null, value: 8, max: 10, delta: 1 }

const uncovered = (listed: Listed, sinceList: number, unsent: number) =>
  balancesAtDoor({ balances: [listed] }, { sinceList, unsent })[0]!.isUncovered

describe('a door without a connection', () => {
  test('adds up to the maximum, and never rejects an addition', () => {
    const at = (sinceList: number) => balancesAtDoor({ balances: [stamps] }, { sinceList, unsent: sinceList })[0]
    expect(at(0)).toMatchObject({ value: 8, delta: 1, isUncovered: false })
    expect(at(1)).toMatchObject({ value: 9, delta: 1, isUncovered: false })
    expect(at(5)).toMatchObject({ value: 10, delta: 0, isUncovered: false })
  })

  test('debits only within the allowance, which its unsent scans use up', () => {
    expect(uncovered(credit, 0, 0)).toBe(false)
    expect(uncovered(credit, 1, 1)).toBe(false)
    expect(uncovered(credit, 2, 2)).toBe(true)
    // The scans were uploaded, so the server knows them.
    expect(uncovered(credit, 2, 0)).toBe(false)
    expect(uncovered({ ...credit, offlineAllowance: 0 }, 0, 0)).toBe(true)
  })

  test('debits only what the known value covers, regardless of the allowance', () => {
    expect(uncovered({ ...credit, value: 300 }, 0, 0)).toBe(false)
    expect(uncovered({ ...credit, value: 299 }, 0, 0)).toBe(true)
    expect(uncovered({ ...credit, value: 500 }, 1, 1)).toBe(true)
  })

  test('denies with the message of the server, and shows the balance after its own scans', () => {
    const item: SnapshotItem = {
      passId: '0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
      externalPassId: 'member-1',
      label: 'Ada',
      templateName: 'Card',
      status: 'ISSUED',
      expiresAt: null,
      redemption: { maxUses: 100 },
      identifiers: [],
      staleIdentifiers: [],
      acceptedScans: [],
      balances: [credit, stamps],
    }
    const generatedAt = '2026-11-28T12:00:00Z'
    const own: OwnScan[] = []
    const scanAt = (minute: number) => {
      const at = new Date(`2026-11-28T12:${minute}:00Z`)
      const { outcome } = evaluateOffline(
        { payload: 'x', passId: null, externalRef: `${minute}`, at, scanContextKey: null, validityDate: null },
        {
          snapshotId: 's',
          matches: { items: [item], isStale: false },
          members: [],
          acceptedScansOf: () => acceptedScans({ listed: [], generatedAt }, { own, reversed: [] }),
          unsentUsesOf: () => countUnsentUses(own, []),
          station: { projectId: undefined, deviceId: undefined, context: {} },
        },
      )
      if (outcome.result === 'accepted') {
        own.push({ scannedAt: at.toISOString(), scanContextKey: null, recordedAt: undefined })
      }
      return [outcome.result, outcome.message, outcome.door?.fields.map(({ value }) => value).join(', ')]
    }
    expect([10, 11, 12].map(scanAt)).toEqual([
      ['accepted', 'Valid. Use 1 of 100.', '€7.00, 9 of 10'],
      ['accepted', 'Valid. Use 2 of 100.', '€4.00, 10 of 10'],
      ['denied', 'Balance too low', '€4.00, 10 of 10'],
    ])
  })

  test('shows amounts in the language of the door, with the digits and the unit of the currency', () => {
    const shownIn = (tag: SpokenLanguage) => {
      const language = doorLanguage(tag)
      return [credit, { ...credit, currency: 'JPY' }, stamps].map(
        (listed) => balanceField(listed, listed.value, language).value,
      )
    }
    expect(shownIn('en')).toEqual(['€10.00', '¥1,000', '8 of 10'])
    expect(shownIn('de')).toEqual(['10,00\u00a0€', '1.000\u00a0¥', '8 von 10'])
    for (const tag of spokenLanguages) expect(shownIn(tag).join(), tag).not.toMatch(/[{}]/)
    expect(new Set(spokenLanguages.map((tag) => shownIn(tag).at(-1))).size).toBeGreaterThan(10)
  })
})
