import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { whereIssuedAt } from '../../../src/storage/passes/pass-change.ts'
import type { PassChange } from '../../../src/storage/passes/passes-repository.ts'
import { dialects } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { insertPasses, insertTemplate, insertWorkspace, later, newPass, openTestStore } from '../fixtures.ts'

type Step = { kind: 'issue' } | { kind: 'void' } | { kind: 'sweep' } | { kind: 'update'; expiry: number | null }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.constant({ kind: 'issue' as const }),
  { weight: 1, arbitrary: fc.constant({ kind: 'void' as const }) },
  fc.constant({ kind: 'sweep' as const }),
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      expiry: fc.option(fc.integer({ min: -20, max: 60 })),
    }),
  },
)

describe.each(dialects)('on %s', (dialect) => {
  test('shows a pass as of a time, regardless of later changes', async () => {
    const { store, database } = await openTestStore(dialect)
    const workspaceId = await insertWorkspace(store)
    const version = await insertTemplate(store, workspaceId)

    await fc.assert(
      fc.asyncProperty(
        fc.option(fc.integer({ min: 1, max: 60 })),
        fc.array(step, { maxLength: 6 }),
        async (first, steps) => {
          const pass = newPass(version, { expiresAt: first === null ? null : later(first) })
          await insertPasses(store, workspaceId, [pass])
          let stretches = [] as [from: number, until: number][]
          let expiry = first ?? Number.POSITIVE_INFINITY
          let isVoid = false
          let isIssued = false
          // Each step is ten seconds after the previous one. The pass is checked five seconds after each step.
          for (const [n, { kind, ...change }] of steps.entries()) {
            const now = (n + 1) * 10
            const at = later(now)
            if (isVoid) break
            if (kind === 'issue' && !isIssued) {
              isIssued = true
              await store.transaction((tx) => tx.passes.setIssued(workspaceId, [pass.id], at))
              stretches.push([now, Math.max(expiry, now)])
            } else if (kind === 'void') {
              isVoid = true
              await store.transaction((tx) => tx.passes.setVoid(workspaceId, [pass.id], at))
              stretches = stretches.map(([from, until]) => [from, Math.min(until, now)])
            } else if (kind === 'sweep') {
              await store.transaction((tx) => tx.passes.expire(at, 10))
            } else if (kind === 'update') {
              const wanted = (change as { expiry: number | null }).expiry
              const moved = wanted === null ? Number.POSITIVE_INFINITY : now + wanted
              const content: PassChange = {
                label: 'x',
                variables: {},
                redemption: null,
                hasBalances: false,
                expiresAt: wanted === null ? null : later(moved),
                templateVersionId: version.id,
                templateVersion: version.version,
                identifierDigest: pass.identifierDigest,
                status: isIssued ? 'ISSUED' : 'QUEUED',
              }
              await store.transaction((tx) => tx.passes.update(workspaceId, pass.id, content, at))
              expiry = moved
              const last = stretches.at(-1)
              if (!last) continue
              const isOver = last[1] <= now
              if (!isOver) last[1] = Math.max(moved, now)
              else if (moved > now) stretches.push([now, moved])
            }
          }
          // Only the last expired span is stored, so check times from its beginning on.
          const known = stretches.at(-2)?.[0] ?? 0
          for (let second = Math.max(known, 5); second <= 75; second += 5) {
            const query = whereIssuedAt(database.writer('passes').where('passes.id', pass.id), later(second))
            const expected = stretches.some(([from, until]) => from <= second && second < until)
            expect((await query).length, `${second} s of ${JSON.stringify(stretches)}`).toBe(expected ? 1 : 0)
          }
        },
      ),
      { numRuns: times(15, 60) },
    )
  })
})
