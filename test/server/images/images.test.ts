import sharp from 'sharp'
import { describe, expect, onTestFinished, test } from 'vitest'
import { unzip } from '../../../src/cli/device/apple-package.ts'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Image } from '../../../src/core/contract/templates/images.ts'
import { createImages, type Decoder } from '../../../src/server/images/images.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import type { Answer } from '../../support/conformance.ts'
import { oneDialect } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { chunk, header, pixels, png as pngOf, withScans, zeros } from '../../support/image-parts.ts'
import { jpeg, png } from '../api/templates/pictures.ts'
import { definition, issuedPass } from '../fixtures.ts'
import { gate } from '../jobs/fixtures.ts'

const { create } = contract.images

function upload(workspace: TestWorkspace, body: Uint8Array, contentType = 'image/png') {
  return workspace.call(create, { body, contentType })
}

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect)

  test.each([
    ['image/png', png],
    ['image/jpeg', jpeg],
  ] as const)('a %s is stored unchanged, and can be read by anyone permanently', async (contentType, make) => {
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

  test('an upload takes an event-loop turn by its size, and none while it is decoded', async () => {
    const workspace = await api.workspace()
    const { eventLoop, images } = api.services
    const seen: string[] = []
    const app = api.createApp({
      ...api.services,
      eventLoop: {
        ...eventLoop,
        async enterRequest(_, bytes) {
          seen.push(`in with ${bytes}`)
          return () => void seen.push('out')
        },
      },
      images: {
        ...images,
        accept(...upload) {
          seen.push('decoded')
          return images.accept(...upload)
        },
      },
    })
    const body = await png({ color: '#00ff02' })
    const headers = { authorization: `Bearer ${workspace.token}`, 'content-type': 'image/png' }
    const answer = await app.request('/v1/images', { method: 'POST', headers, body: new Uint8Array(body) })
    expect(answer.status).toBe(201)
    expect(seen).toEqual([`in with ${body.length}`, 'out', 'decoded'])
  })

  test('the same bytes in two workspaces are two images, so that neither learns of the other', async () => {
    const body = await png({ color: '#0000ff' })
    const answers = [await upload(await api.workspace(), body), await upload(await api.workspace(), body)]
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect((answers[0]!.body as Image).id).not.toBe((answers[1]!.body as Image).id)
  })

  test('an image is stored and served without what is appended to it', async () => {
    const workspace = await api.workspace()
    const picture = await png({ color: '#00ff03' })
    const sent = Buffer.concat([picture, Buffer.from('<script>alert(1)</script>')])
    const { id, bytes } = (await upload(workspace, sent)).body as Image
    expect(bytes).toBe(picture.length)
    expect((await api.send('GET', `/images/${id}`)).bytes).toEqual(Buffer.from(picture))
    // Uploading the same file again returns the same image.
    expect(await upload(workspace, sent)).toMatchObject({ status: 200, body: { id, bytes } })
  })

  test.each([
    ['image/jpeg', (picture: sharp.Sharp) => picture.jpeg()],
    ['image/png', (picture: sharp.Sharp) => picture.png()],
  ] as const)('a %s is stored and served without the place where it was taken, and upright', async (type, encode) => {
    const workspace = await api.workspace()
    const place = { IFD0: { Artist: 'Ada' }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 30/1 0/1' } }
    const halves = { left: 0, top: 0, input: { create: { width: 30, height: 40, channels: 3, background: '#ff0000' } } }
    const picture = sharp({ create: { width: 60, height: 40, channels: 3, background: '#0000ff' } })
    const taken = picture
      .composite([halves as sharp.OverlayOptions])
      .withExif(place)
      .withMetadata({ orientation: 6 })
    const body = new Uint8Array(await encode(taken).toBuffer())
    expect((await sharp(body).metadata()).orientation).toBe(6)
    const answer = await upload(workspace, body, type)
    const { bytes: shown } = await api.send('GET', `/images/${(answer.body as Image).id}`)
    // The size is that of the upright image.
    expect(answer.body).toMatchObject({ width: 40, height: 60, bytes: shown.length })
    const { orientation, exif } = await sharp(shown).metadata()
    expect(orientation).toBe(6)
    expect(exif!.length).toBeLessThan(40)
    expect(shown.includes('Ada')).toBe(false)
    const upright = (file: Uint8Array) => sharp(file).autoOrient().raw().toBuffer()
    expect(await upright(shown)).toEqual(await upright(body))
  })

  test('the bytes determine the type, not the declared content type', async () => {
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
    ['a png that claims 100,000 x 100,000 pixels', async () => pngOf(header(100_000, 100_000), pixels(100_000))],
    ['a png just over 16 million pixels', async () => pngOf(header(4001, 4000), pixels(100_000))],
    ['a progressive jpeg of 5,000 scans', async () => withScans(await progressive(), 5_000)],
    ['an animated png', async () => pngOf(header(1, 1), chunk('acTL'), pixels(4))],
    ['a png with a profile that unfolds to 500 MB', async () => pngOf(header(1, 1), profile(500_000_000), pixels(4))],
  ]
  test.each(broken)('rejects %s', async (_, make) => {
    const body = new Uint8Array(await make())
    const answer = await upload(await api.workspace(), body)
    expect(answer.status, answer.text).toBe(400)
    expect(answer.body).toMatchObject({ errorCode: 'INVALID_INPUT' })
  })

  test('accepts a progressive JPEG with the maximum number of scans', async () => {
    const answer = await upload(await api.workspace(), withScans(await progressive(), 32), 'image/jpeg')
    expect([answer.status, answer.body]).toMatchObject([201, { width: 64, height: 64 }])
  })

  test('an accepted image is never decoded again: passes contain the files of the upload', async () => {
    const workspace = await api.workspace()
    const { id } = (await upload(workspace, await png({ width: 400, height: 200 }))).body as Image
    // These bytes can no longer be decoded.
    await api.database
      .writer('images')
      .where({ id })
      .update({ data: Buffer.from('gone') })
    const shown = await packageFiles(workspace, id)
    expect(shown).toMatchObject({
      'logo.png': 'png 100x50',
      'logo@3x.png': 'png 300x150',
      'strip.png': 'png 288x144',
    })
    expect(shown).not.toHaveProperty('strip@2x.png')
  })

  test('an image of an older program is decoded when a pass first needs it, and its files are stored', async () => {
    const workspace = await api.workspace()
    const { id } = (await upload(workspace, await jpeg({ width: 400, height: 200 }))).body as Image
    const files = () => api.database.writer('image_files').where({ image_id: id })
    const made = await files().orderBy('size').select('size')
    await files().delete()
    expect(await packageFiles(workspace, id)).toMatchObject({ 'logo@3x.png': 'png 300x150' })
    const ofRoles = made.filter(({ size }) => /^(160x50|375x144)@/.test(size))
    expect(await files().orderBy('size').select('size')).toEqual(ofRoles)
  })

  test('a workspace that uploads many images at once gets 429, and others are served', async () => {
    const [busy, other] = [await api.workspace(), await api.workspace()]
    const held = gate()
    const decoder: Decoder = {
      async decode() {
        await held.pass()
        return { width: 500, height: 500, files: [], mosaic: new Uint8Array() }
      },
      close: () => undefined,
    }
    const { app } = api
    api.app = api.createApp({ ...api.services, images: createImages(api.services.store, decoder) })
    onTestFinished(() => void Object.assign(api, { app }))
    const bodies = await Promise.all(Array.from({ length: 30 }, (_, n) => png({ width: 500 + n, height: 500 })))
    const refused: Answer[] = []
    const many = bodies.map(async (body) => {
      const answer = await upload(busy, body)
      if (answer.status === 429) refused.push(answer)
      return answer
    })
    await eventually(() => expect(refused).toHaveLength(30 - 8))
    const beside = upload(other, bodies[0]!)
    held.open()
    expect((await beside).status).toBe(201)
    const answers = await Promise.all(many)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(8)
    for (const { body, headers } of refused) {
      expect(body).toMatchObject({ errorCode: 'RATE_LIMITED' })
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    }
  })

  test.each(['018f2f5e-7c1a-7000-8000-0123456789ab', 'x', '..%2f..%2fetc%2fpasswd'])(
    'an unknown image is 404: %s',
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

async function progressive(): Promise<Buffer> {
  const picture = sharp({ create: { width: 64, height: 64, channels: 3, background: '#336699' } })
  return picture.jpeg({ progressive: true }).toBuffer()
}

function profile(bytes: number): Buffer {
  return chunk('iCCP', Buffer.concat([Buffer.from('name\0\0'), zeros(bytes)]))
}

/** The image files of the Apple package of a pass that shows an image as logo and strip. */
async function packageFiles(workspace: TestWorkspace, id: string) {
  const design = { organizationName: 'Example', description: 'Ticket', images: { logo: id, strip: id } }
  const pass = await issuedPass(workspace, { definition: definition({ design }) })
  const query = { platform: 'apple', format: 'pkpass' } as const
  const { bytes, status, text } = await workspace.call(contract.passes.preview, { params: { id: pass.id }, query })
  expect(status, text).toBe(200)
  const pictures = [...unzip(bytes)].filter(([name]) => name.endsWith('.png'))
  const entries = pictures.map(async ([name, data]) => {
    const { format, width, height } = await sharp(data).metadata()
    return [name, `${format} ${width}x${height}`] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
