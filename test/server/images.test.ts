import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { contract } from '../../src/core/contract/contract.ts'
import type { Image } from '../../src/core/contract/images.ts'
import { type TestWorkspace, useApi } from '../support/api.ts'
import { dialects } from '../support/databases.ts'
import { jpeg, png } from './pictures.ts'

const { create } = contract.images

function upload(workspace: TestWorkspace, body: Uint8Array, contentType = 'image/png') {
  return workspace.call(create, { body, contentType })
}

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  test.each([
    ['image/png', png],
    ['image/jpeg', jpeg],
  ] as const)('a %s is kept as it is, and shown to everyone for good', async (contentType, make) => {
    const workspace = await api.workspace()
    const body = await make({ width: 60, height: 40 })
    const answer = await upload(workspace, body, contentType)
    expect(answer.status).toBe(201)
    expect(answer.body).toMatchObject({ contentType, width: 60, height: 40, bytes: body.length })

    const shown = await api.send('GET', `/images/${(answer.body as Image).id}`)
    expect(shown.status).toBe(200)
    expect(shown.bytes.equals(body)).toBe(true)
    expect(Object.fromEntries(shown.headers)).toMatchObject({
      'content-type': contentType,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
  })

  test('the same bytes are one image: 201, then 200 with the same id', async () => {
    const workspace = await api.workspace()
    const body = await png({ color: '#00ff00' })
    const [first, second] = [await upload(workspace, body), await upload(workspace, body)]
    expect([first.status, second.status]).toEqual([201, 200])
    expect(second.body).toEqual(first.body)
    const racing = await png({ color: '#00ff01' })
    const answers = await Promise.all(Array.from({ length: 5 }, () => upload(workspace, racing)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 201])
  })

  test('the same bytes in two workspaces are two images, so that neither learns of the other', async () => {
    const body = await png({ color: '#0000ff' })
    const answers = [await upload(await api.workspace(), body), await upload(await api.workspace(), body)]
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect((answers[0]!.body as Image).id).not.toBe((answers[1]!.body as Image).id)
  })

  test('the type is what the bytes say, not what the sender calls them', async () => {
    const answer = await upload(await api.workspace(), await jpeg(), 'image/png')
    expect(answer.body).toMatchObject({ contentType: 'image/jpeg' })
  })

  const broken: [string, () => Promise<Uint8Array>][] = [
    ['nothing', async () => new Uint8Array()],
    ['text', async () => Buffer.from('<svg onload="alert(1)"/>')],
    [
      'a gif',
      async () =>
        sharp(await png())
          .gif()
          .toBuffer(),
    ],
    [
      'a webp',
      async () =>
        sharp(await png())
          .webp()
          .toBuffer(),
    ],
    ['a png cut short', async () => (await png({ width: 200, height: 200 })).subarray(0, 120)],
    ['a png with a flipped byte', async () => flipped(await png({ width: 50, height: 50 }))],
    ['a jpeg cut short', async () => (await jpeg({ width: 200, height: 200 })).subarray(0, 300)],
    ['a png signature alone', async () => (await png()).subarray(0, 8)],
    ['a png that claims 100,000 x 100,000 pixels', async () => hugePng(100_000, 100_000)],
    ['a png just over 16 million pixels', async () => hugePng(4001, 4000)],
  ]
  test.each(broken)('%s is refused', async (_, make) => {
    const body = new Uint8Array(await make())
    const answer = await upload(await api.workspace(), body)
    expect(answer.status, answer.text).toBe(400)
    expect(answer.body).toMatchObject({ errorCode: 'INVALID_INPUT' })
  })

  test.each(['018f2f5e-7c1a-7000-8000-0123456789ab', 'x', '..%2f..%2fetc%2fpasswd'])(
    'an image that is not there is 404: %s',
    async (id) => {
      const answer = await api.send('GET', `/images/${id}`)
      expect([answer.status, answer.body]).toMatchObject([404, { errorCode: 'NOT_FOUND' }])
    },
  )
})

function flipped(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes)
  const middle = Math.floor(copy.length / 2)
  copy[middle] = copy[middle]! ^ 0xff
  return copy
}

/** A few bytes that claim to be a huge picture: a header, some data and an end. */
function hugePng(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const data = deflateSync(Buffer.alloc(100_000))
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
