import { describe, expect, test } from 'vitest'
import { oneDialect, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { startReceiver } from '../../support/receiver.ts'
import { issuedPass } from '../support/passes.ts'
import { run } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

describe.each(oneDialect)('on %s', (dialect) => {
  test('one correlation ID finds the request, its jobs, the platform call, and the delivery', async () => {
    const receiver = await startReceiver()
    const server = await hostServer({ dialect, args: ['--log-level', 'debug', '--allow-insecure-webhooks'] })
    const { client, url, token } = server
    await client.webhooks.create({ body: { url: `${receiver.url}/planted-path`, events: ['pass.updated'] } })
    const pass = await issuedPass(client)
    const env = { PASSES_URL: url, PASSES_TOKEN: token, XDG_DATA_HOME: temporaryFolder() }
    const installed = await run(['device', 'install', pass.hostedLinks.google!, '--platform', 'google'], undefined, {
      env,
    })
    expect(installed.exitCode, String(installed.stderr)).toBe(0)

    // The callback says that the pass is installed. Before it, changes are not sent to Google.
    const correlationId = 'order-4711'
    const found = await eventually(async () => {
      const response = await fetch(`${url}/v1/passes/${pass.id}`, {
        method: 'PATCH',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'x-correlation-id': correlationId,
        },
        body: JSON.stringify({ label: `Ada ${Math.random()}` }),
      })
      expect(response.status).toBe(200)
      const lines = server
        .stderr()
        .split('\n')
        .filter((line) => line.includes(`"correlationId":"${correlationId}"`))
      const found = lines.map((line) => JSON.parse(line))
      const messages = found.map(({ msg, kind, provider }) => [msg, provider ?? kind].filter(Boolean).join(' '))
      const wanted = ['request', 'job ran update-google', 'platform notified google', 'webhook attempt']
      expect(messages).toEqual(expect.arrayContaining(wanted))
      return found
    })
    expect(found.find(({ msg }) => msg === 'request')).toMatchObject({ method: 'PATCH', route: '/v1/passes/{id}' })
    expect(server.stderr()).not.toContain('planted-path')
    expect(server.stderr()).not.toContain(token)
  })
})
