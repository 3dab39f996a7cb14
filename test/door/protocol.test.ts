import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contract } from '../../src/core/contract/contract.ts'
import type { Decision } from '../../src/door/engine/engine.ts'
import { scannablePass } from '../server/api/scans/scan-support.ts'
import { makeProject } from '../server/fixtures.ts'
import { useApi } from '../support/api.ts'
import { times } from '../support/long.ts'
import { claimedPhone, type Network, type Phone } from './phone.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

const PASSES = 4

type Step =
  | { do: 'scan'; phone: number; pass: number }
  | { do: 'network'; phone: number; network: Network }
  /** The page is killed after the given number of steps of a scan, and then reloaded. */
  | { do: 'kill'; phone: number; pass: number; after: number }
  | { do: 'undo'; phone: number }

const phone = fc.nat(1)
const pass = fc.nat(PASSES - 1)
const network = fc.constantFrom<Network>('up', 'down', 'deaf')
const walks = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('scan' as const), phone, pass }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('network' as const), phone, network }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('kill' as const), phone, pass, after: fc.integer({ min: 1, max: 14 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('undo' as const), phone }) },
  ),
  { minLength: 5, maxLength: 25 },
)

test('despite cuts and kills at two doors, the ledger has each decision once and marks double admissions', async () => {
  const walked = fc.asyncProperty(walks, async (walk: Step[]) => {
    const workspace = await api.workspace()
    const { id: projectId } = await makeProject(workspace)
    const passes: { id: string; code: string }[] = []
    for (let n = 0; n < PASSES; n += 1) passes.push(await scannablePass(workspace, { projectId }))
    const phones = [await claimedPhone(workspace, projectId), await claimedPhone(workspace, projectId, 'South')]
    const shown: Decision[] = []
    const scan = async (one: Phone, n: number) => {
      shown.push(await one.engine.scan({ payload: passes[n]!.code, method: 'camera' }))
    }

    for (const step of walk) {
      // Readings within three seconds are one scan.
      api.advance(10)
      const one = phones[step.phone]!
      if (step.do === 'network') one.network = step.network
      else if (step.do === 'scan') await scan(one, step.pass)
      else if (step.do === 'undo') {
        const last = shown.findLast((decision) => decision.result === 'accepted' && one.made(decision))
        if (last) await one.engine.undo(last)
      } else {
        const dead = one.dieAfter(step.after)
        await Promise.race([scan(one, step.pass), dead])
        await one.open()
      }
    }
    for (const one of phones) await one.settle()

    const { items } = await workspace.ok(contract.scans.list, { query: { limit: 100 } })
    const known = new Map(
      phones.flatMap(({ engine }) => engine.state.recent).map(({ externalRef, scanId }) => [externalRef, scanId]),
    )
    for (const decision of shown) {
      expect(decision.failure, decision.message).toBe(null)
      if (decision.result === 'same_scan') continue
      const item = items.find(({ id }) => id === (decision.scanId ?? known.get(decision.externalRef)))
      expect(item, `lost: ${JSON.stringify(decision)}`).toBeDefined()
      const isDenialOfAnAdmission = decision.result !== 'accepted' && item!.result === 'accepted'
      const isTold = phones.some(({ engine }) =>
        engine.state.conflicts.some(({ externalRef }) => externalRef === decision.externalRef),
      )
      const isAsShown = (decision.result === 'accepted') === (item!.result === 'accepted')
      expect(isAsShown || (isDenialOfAnAdmission && isTold), `changed: ${JSON.stringify([decision, item])}`).toBe(true)
    }
    const shownRefs = shown.filter(({ result }) => result !== 'same_scan').map(({ externalRef }) => externalRef)
    expect(new Set(shownRefs).size).toBe(shownRefs.length)
    for (const { id } of passes) {
      const ofPass = items.filter(({ passId }) => passId === id)
      const reversed = new Set(ofPass.map(({ reversesScanId }) => reversesScanId))
      const isAgreed = (item: (typeof items)[number]) =>
        item.result === 'accepted' && item.metadata.conflict === undefined && !reversed.has(item.id)
      expect(ofPass.filter(isAgreed).length, `twice: ${JSON.stringify(ofPass)}`).toBeLessThanOrEqual(1)
    }
    for (const one of phones) await one.engine.stop()
  })
  await fc.assert(walked, { numRuns: times(6, 1_000), endOnFailure: true })
})
