import sqlite3 from 'sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import { ConnectionError } from '../../../src/client/client-errors.ts'
import { scannablePass } from '../../server/api/scans/scan-support.ts'
import { useApi } from '../../support/api.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { serveApp } from '../../support/served-app.ts'
import { openDoor } from './console.ts'

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite')

/** Lets SQLite report a full disk for each write to the database of a door. */
function fillDisk(): () => void {
  const { exec } = sqlite3.Database.prototype
  const spy = vi.spyOn(sqlite3.Database.prototype, 'exec').mockImplementation(function (
    this: sqlite3.Database,
    ...args: unknown[]
  ) {
    const { filename } = this as unknown as { filename: string }
    if (args[0] !== 'begin immediate' || !filename.endsWith('door.db')) return Reflect.apply(exec, this, args)
    const done = args.at(-1) as (error: Error) => void
    done(Object.assign(new Error('full'), { code: 'SQLITE_FULL' }))
    return this
  })
  onTestFinished(() => spy.mockRestore())
  return () => spy.mockRestore()
}

test('a console shows that it cannot store scans, also while it is online, until writes succeed again', async () => {
  const workspace = await api.workspace()
  const { code } = await scannablePass(workspace)
  const { client } = await serveApp(api, workspace.token)
  let isDown = false
  const request: Client['request'] = async (raw, options) => {
    if (isDown) throw new ConnectionError('http://server', new Error('down'))
    return client.request(raw, options)
  }
  const freeDisk = fillDisk()
  const door = await openDoor({ ...client, request }, temporaryFolder())
  onTestFinished(async () => void (await door.stop()))
  await eventually(() => expect(door.state.notice).toContain('free disk space, or check the folder'))
  isDown = true
  expect((await door.scan(code)).message).toContain('could not be stored on this machine')
  expect(door.state.notice).toContain('free disk space, or check the folder')
  isDown = false
  freeDisk()
  await eventually(() => expect(door.state.lists.list).not.toBe(null))
  expect((await door.scan(code)).result).toBe('accepted')
  expect(door.state.notice).toBe(null)
})
