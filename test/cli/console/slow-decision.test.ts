import { expect, onTestFinished, test } from 'vitest'
import { createDoor } from '../../../src/cli/console/console-door.ts'
import { createControls } from '../../../src/cli/console/controls.ts'
import type { Client } from '../../../src/client/client.ts'
import { ApiError } from '../../../src/client/client-errors.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'

const request = { method: 'POST', path: '/v1/scans' }
const refused = new ApiError({ status: 400, code: 'X', message: 'No', correlationId: 'c', details: {}, request })

test('hides the previous decision while the next one is slow', async () => {
  const folder = temporaryFolder()
  let answer: () => void = () => undefined
  let gate = Promise.resolve()
  const refuse = async () => {
    await gate
    throw refused
  }
  const door = await createDoor({
    client: { request: refuse } as unknown as Client,
    folder,
    station: { projectId: undefined, deviceId: 'gate', context: {} },
    isReached: true,
    overrides: { scanContextKey: null, validityDate: null },
    clock: () => new Date(),
    sameScanMs: 0,
    onOutcome: () => undefined,
    onChange: () => undefined,
  })
  onTestFinished(async () => {
    await door.stop()
  })
  const nothing = () => undefined
  const controls = createControls({ door, clearInput: nothing, onInterrupt: nothing, onChange: nothing })
  await door.scan('FIRST')
  expect(door.state).toMatchObject({ isSlow: false, decision: { payload: 'FIRST' } })
  gate = new Promise((resolve) => {
    answer = resolve
  })
  const second = door.scan('SECOND')
  await eventually(() => expect(door.state).toMatchObject({ isSlow: true, decision: null }))
  controls.handle({ kind: 'key', key: 'group' })
  expect([controls.panel, door.state.notice]).toEqual([null, 'The last scan is still being checked.'])
  answer()
  await second
  expect(door.state).toMatchObject({ isSlow: false, decision: { payload: 'SECOND' } })
})
