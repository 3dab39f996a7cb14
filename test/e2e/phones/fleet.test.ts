import { expect, onTestFinished, test } from 'vitest'
import { type BehaviourName, parseMix } from '../../../bench/support/fleet/behaviour.ts'
import { installFleet } from '../../../bench/support/fleet/install.ts'
import { reportFleet } from '../../../bench/support/fleet/report.ts'
import { createRandom } from '../../../bench/support/random.ts'
import { eventually } from '../../support/eventually.ts'
import { batchOf, inspect, publishTemplate } from '../support/passes.ts'
import { setFaults } from '../support/phone.ts'
import { run } from '../support/program.ts'
import { hostServer, type TestServer } from '../support/server.ts'

/**
 * One pass for each phone. A fetch does not name its phone, so if two phones fetch one pass at once, either may be recorded.
 */
const PASSES = 30

async function issue({ client }: TestServer): Promise<string[]> {
  const templateId = await publishTemplate(client)
  await client.passes.createBatch({ body: { passes: batchOf(templateId, 'held', PASSES) } })
  return eventually(async () => {
    const { items } = await client.passes.list({ query: { status: ['ISSUED'], limit: 100 } })
    expect(items).toHaveLength(PASSES)
    return items.map(({ id }) => id)
  })
}

test('lists exactly the passes of hostile phones, and the reason of each outdated one', async () => {
  const server = await hostServer()
  const { client } = server
  const ids = await issue(server)
  const { fleet, passIds } = await installFleet({
    client,
    fleetId: '00c0ffee00c0ffee',
    phones: 30,
    mix: parseMix('awake=18,slow=3,deaf=6,stuck=3'),
    random: createRandom('seed'),
    speed: 10_000,
    onProblem: (message) => expect.fail(message),
  })
  onTestFinished(() => fleet.close())
  const { rows } = inspect(server.database)
  const report = async () => {
    await eventually(async () => expect(await rows('jobs')).toEqual([]))
    const behaviours = await reportFleet(fleet, { client, passIds })
    return Object.fromEntries(
      behaviours.map(({ behaviour, passes, current, stale, unlisted, wronglyListed }) => [
        behaviour,
        { passes, current, silent: stale.silent, refused: stale.refused, amiss: unlisted + wronglyListed },
      ]),
    ) as Record<BehaviourName, object>
  }
  const nothing = { silent: 0, refused: 0, amiss: 0 }
  expect(await report()).toMatchObject({ awake: { passes: 18, current: 18, ...nothing }, deaf: { current: 6 } })

  for (const id of ids) await client.passes.update({ params: { id }, body: { label: 'Grace' } })
  const expected = {
    awake: { passes: 18, current: 18, ...nothing },
    slow: { passes: 3, current: 3, ...nothing },
    deaf: { passes: 6, current: 0, ...nothing, silent: 6 },
    stuck: { passes: 3, current: 0, ...nothing, silent: 3 },
  }
  await eventually(async () => expect(await report()).toEqual(expected))
  expect(fleet.counts).toMatchObject({ pushes: 30, fetched: 21, problems: 0 })

  // APNs accepts the push but does not deliver it: the phone learns nothing, and the server does not know.
  await setFaults(server, 'apns-drop')
  for (const id of ids) await client.passes.update({ params: { id }, body: { label: 'Hedy' } })
  await eventually(async () => {
    expect(await report()).toMatchObject({
      awake: { current: 0, ...nothing, silent: 18 },
      deaf: { current: 0, ...nothing, silent: 6 },
    })
  })
  expect(fleet.counts.pushes).toBe(30)

  const listed = await run(['wallets', 'list', '--stale', '--json'], server)
  const freshness = { objective: 0.999, withinSeconds: 300, phones: 30, late: 0, share: 1, isMet: true }
  expect(JSON.parse(listed.stdout)).toMatchObject({ total: 30, freshness })
  expect(listed.stderr).toMatch(
    /^Freshness: 100 % of reachable phones have the last version within 5 minutes: met \(objective 99.9 %; 0 late, 0 refused, of 30 phones\)$/m,
  )

  for (const phone of fleet.phones) for (const pass of phone.passes) await fleet.unregister(phone, pass)
  expect((await client.wallets.list()).total).toBe(0)
})
