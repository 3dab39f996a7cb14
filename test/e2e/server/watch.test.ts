import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { issuedPass } from '../support/passes.ts'
import { run, spawnProgram } from '../support/program.ts'
import { openTerminal } from '../support/pty.ts'
import { hostServer } from '../support/server.ts'

test('watch shows requests, queues, deliveries and doors, says what it cannot see, and outlives the server', async () => {
  const server = await hostServer({ args: ['--metrics-port', '0'] })
  const { id } = await issuedPass(server.client)
  await server.client.scans.create({ body: { passId: id, deviceId: 'north' } })
  const watched = openTerminal(['watch', '--interval', '1', '--metrics', server.metricsUrl!], server)
  for (const shown of [/[1-9][\d.]* requests\/s/, '95% under', 'jobs: ', 'deliveries: 0 pending', /^north +1 +0/m]) {
    await watched.shows(shown)
  }
  expect(watched.screen.text().match(/answers in/g)).toHaveLength(1)

  const piped = spawnProgram(['watch', '--interval', '1', '--json'], server, { forceKillAfterDelay: false })
  onTestFinished(() => void piped.kill('SIGKILL'))
  let output = ''
  piped.stdout!.on('data', (text) => {
    output += text
  })
  await eventually(() => expect(output.split('\n').length).toBeGreaterThan(2))
  await server.stop()
  await watched.shows('no answer')
  await eventually(() => expect(output).toContain('"answeredInMs":null'))
  watched.type('\u0003')
  expect(await watched.ended).toBe(130)
  piped.kill('SIGINT')
  expect(await piped).toMatchObject({ exitCode: 130, stderr: '' })
  const looks = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(looks[0]).toMatchObject({ requests: null, queues: null, deliveries: { pending: 0 }, scans: { total: 1 } })
  expect(looks[0].missing).toEqual([expect.stringContaining('--metrics-port')])
  expect(await run(['watch', '--metrics', 'here'], server)).toMatchObject({ exitCode: 2 })
})
