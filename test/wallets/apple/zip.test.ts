import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { execa } from 'execa'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { zip, zipPart } from '../../../src/wallets/apple/package.ts'
import { temporaryFolder, unpack } from './fixtures.ts'

const entry = (name: string, bytes: Buffer) => ({ name, bytes, crc32: crc32(bytes) })

test('unzip restores every file, including empty ones and non-ASCII names', async () => {
  const noise = Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * 7919) % 251))
  const folder = await unpack(
    zip([entry('pass.json', Buffer.from('{}')), entry('empty', Buffer.alloc(0)), entry('größe.bin', noise)]),
  )
  expect(readFileSync(join(folder, 'pass.json'), 'utf8')).toBe('{}')
  expect(readFileSync(join(folder, 'empty'))).toHaveLength(0)
  expect(readFileSync(join(folder, 'größe.bin')).equals(noise)).toBe(true)
})

test('unzip detects a wrong CRC', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'bad.zip'), zip([{ name: 'a', bytes: Buffer.from('a'), crc32: 1 }]))
  await expect(execa('unzip', ['-t', 'bad.zip'], { cwd: folder })).rejects.toThrow('bad CRC')
})

test('equal entries give equal archives, and different entries different ones', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (a, b) => {
      const [one, two] = [Buffer.from(a), Buffer.from(b)]
      expect(zip([entry('f', one)]).equals(zip([entry('f', two)]))).toBe(one.equals(two))
    }),
  )
})

test('rejects more entries than the format can count', () => {
  const many = Array.from({ length: 65_536 }, () => entry('f', Buffer.alloc(0)))
  expect(() => zip(many)).toThrow(RangeError)
})

test('entries after a prebuilt part form one archive, and long texts in it are compressed', async () => {
  const text = Buffer.from(JSON.stringify(Array.from({ length: 1_000 }, (_, n) => ({ key: n }))))
  const noise = Buffer.from(Array.from({ length: 5_000 }, (_, n) => (n * 7919) % 251))
  const part = zipPart([entry('icon.png', noise), entry('logo.png', text)])
  const archive = zip([entry('pass.json', text), entry('short.json', Buffer.from('{}'))], [part])
  const folder = await unpack(archive)
  const files = { 'icon.png': noise, 'logo.png': text, 'pass.json': text, 'short.json': Buffer.from('{}') }
  for (const [name, bytes] of Object.entries(files)) expect(readFileSync(join(folder, name)).equals(bytes)).toBe(true)
  expect(archive.length).toBeLessThan(noise.length + text.length * 1.5)
  expect(archive.includes(noise)).toBe(true)
})
