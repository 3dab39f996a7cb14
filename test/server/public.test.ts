import { describe, expect, test } from 'vitest'
import { openApiDocument } from '../../src/core/openapi.ts'
import { useApi } from '../support/api.ts'
import { dialects } from '../support/databases.ts'

describe.each(dialects)('on %s', (dialect) => {
  const state = { database: true, migrations: true, worker: true }
  const api = useApi(dialect, { readiness: async () => state })

  test('/healthz says that the process is alive, to anyone', async () => {
    const { status, body } = await api.send('GET', '/healthz')
    expect([status, body]).toEqual([200, { status: 'ok' }])
  })

  test('/readyz says whether the server can work, and what keeps it from it', async () => {
    const ready = await api.send('GET', '/readyz')
    expect([ready.status, ready.body]).toEqual([200, { status: 'ready', checks: state }])
    state.worker = false
    const unavailable = await api.send('GET', '/readyz')
    state.worker = true
    expect([unavailable.status, unavailable.body]).toEqual([
      503,
      { status: 'unavailable', checks: { ...state, worker: false } },
    ])
  })

  test('/openapi.json is the description that the contract makes, to anyone', async () => {
    const { status, headers, body } = await api.send('GET', '/openapi.json')
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(body).toEqual(JSON.parse(JSON.stringify(openApiDocument())))
  })
})
