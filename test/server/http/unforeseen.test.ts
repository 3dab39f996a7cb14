import knex from 'knex'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type TestWorkspace, useApi } from '../../support/api.ts'

describe('after a failure', () => {
  const api = useApi('sqlite')

  afterEach(() => {
    vi.restoreAllMocks()
  })

  /** Returns the response to a given failure of the database. Does not use `send`, which fails for a 500. */
  async function answerTo(error: unknown) {
    const workspace: TestWorkspace = await api.workspace()
    vi.spyOn(api.services.store.forRequests(workspace.id).projects, 'list').mockRejectedValue(error)
    const headers = { authorization: `Bearer ${workspace.token}`, 'x-correlation-id': 'trace-1' }
    const response = await api.app.fetch(new Request('https://passes.example/v1/projects', { headers }))
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  test('an unexpected error is 500 INTERNAL_ERROR with the correlation ID, and without internals', async () => {
    for (const error of [
      new Error('secret at 10.0.0.1:5432'),
      'secret',
      null,
      { secret: 1 },
      new TypeError('secret'),
    ]) {
      const { status, headers, body } = await answerTo(error)
      expect(status).toBe(500)
      expect(headers.get('x-correlation-id')).toBe('trace-1')
      expect(body).toMatchObject({ errorCode: 'INTERNAL_ERROR', correlationId: 'trace-1', details: {} })
      expect(JSON.stringify(body)).not.toMatch(/secret|10\.0\.0\.1|TypeError|\.ts/)
    }
  })

  test.each([
    ['SQLITE_BUSY', /locked by another transaction/],
    ['55P03', /locked by another transaction/],
    ['SQLITE_FULL', /disk of the database is full/],
    ['53100', /disk of the database is full/],
    ['SQLITE_READONLY', /is read-only/],
    ['25006', /is read-only/],
    ['SQLITE_CORRUPT', /is damaged/],
    ['SQLITE_IOERR', /reports errors/],
    ['SQLITE_CANTOPEN', /limit of open files/],
    ['EMFILE', /limit of open files/],
    ['ECONNREFUSED', /does not respond/],
    ['57P01', /does not respond/],
    ['40001', /busy/],
  ])('responds 503 SERVICE_UNAVAILABLE with the reason if the database fails with %s', async (code, reason) => {
    const { status, headers, body } = await answerTo(Object.assign(new Error('secret'), { code }))
    expect(body.message).toMatch(reason)
    expect([status, headers.get('retry-after')]).toEqual([503, '1'])
    expect(body).toMatchObject({ errorCode: 'SERVICE_UNAVAILABLE', correlationId: 'trace-1' })
    expect(JSON.stringify(body)).not.toContain('secret')
  })

  test('an exhausted connection pool is 503', async () => {
    const { status } = await answerTo(new knex.KnexTimeoutError('full'))
    expect(status).toBe(503)
  })
})
