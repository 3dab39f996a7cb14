import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  createDevice,
  type Device,
  type DeviceFile,
  type GoogleDevice,
  listDevices,
  openDevice,
} from '../../../src/cli/device/phone-store.ts'
import { deviceFor, findPassId } from '../../../src/cli/device/phones.ts'
import { temporaryFolder } from '../../support/databases.ts'

const google = (name: string): Device => ({ platform: 'google', name, language: 'en', deviceId: 'd', passes: [] })
const pass = (objectId: string): GoogleDevice['passes'][number] => {
  const at = '2026-07-01T12:00:00.000Z'
  return {
    directory: 'd',
    kind: 'generic',
    objectId,
    object: {},
    class: {},
    version: 1,
    installedAt: at,
    updatedAt: at,
  }
}
const add = (file: DeviceFile, id: string) =>
  file.update((device) => ({ ...(device as GoogleDevice), passes: [...(device as GoogleDevice).passes, pass(id)] }))

test('concurrent changes are all kept, and no file is left behind', async () => {
  const folder = temporaryFolder()
  const files = [1, 2, 3].map(() => deviceFor(folder, 'google'))
  await Promise.all(Array.from({ length: 60 }, (_, n) => add(files[n % 3]!, `p-${n}`)))
  expect((listDevices(folder)[0] as GoogleDevice).passes).toHaveLength(60)
  expect(readdirSync(folder)).toEqual(['android.json'])
  expect(statSync(join(folder, 'android.json')).mode & 0o777).toBe(0o600)
})

test('takes over the lock of a killed process', async () => {
  const folder = temporaryFolder()
  const file = deviceFor(folder, 'google')
  const lock = join(folder, 'android.lock')
  mkdirSync(lock)
  utimesSync(lock, new Date(0), new Date(0))
  await add(file, 'p-1')
  expect((file.read() as GoogleDevice).passes).toHaveLength(1)
})

test('the name of a phone is optional if there is only one', () => {
  const folder = temporaryFolder()
  expect(() => openDevice(folder, undefined)).toThrow('No phone was created yet')
  createDevice(folder, google('pixel'))
  expect(openDevice(folder, undefined).name).toBe('pixel')
  createDevice(folder, google('tablet'))
  expect(() => openDevice(folder, undefined)).toThrow('Several phones exist: choose one of pixel, tablet')
  expect(openDevice(folder, 'tablet').name).toBe('tablet')
  expect(() => openDevice(folder, 'watch')).toThrow('The phone watch does not exist; choose one of pixel, tablet')
})

test('rejects phone names with paths, and a phone of another platform', () => {
  const folder = temporaryFolder()
  for (const name of ['../elsewhere', 'a/b', '.hidden', '']) {
    expect(() => createDevice(folder, google(name))).toThrow('must be at most 64 letters')
  }
  deviceFor(folder, 'google', 'mine')
  expect(() => deviceFor(folder, 'apple', 'mine')).toThrow('belongs to the platform google')
})

test('finds a pass by its ID, and a Google pass also without the issuer', () => {
  const device: Device = { ...(google('pixel') as GoogleDevice), passes: [pass('338.one'), pass('338.two')] }
  expect(findPassId(device, '338.two')).toBe('338.two')
  expect(findPassId(device, 'one')).toBe('338.one')
  expect(() => findPassId(device, 'three')).toThrow('holds no pass three')
})

test('the error of a broken file names it', () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'broken.json'), '{}')
  expect(() => listDevices(folder)).toThrow('broken.json is not the file of a virtual phone')
})
