import { expect, test } from 'vitest'
import { inspectImage } from '../../../../src/core/rules/template/image.ts'
import { chunk, frame, header, jpeg, pixels, png, scan, segment } from '../../../support/image-parts.ts'

const times = <T>(count: number, part: T) => Array.from({ length: count }, () => part)
const text = (bytes: number) => chunk('tEXt', Buffer.alloc(bytes, 0x61))
const comment = (bytes: number) => segment(0xfe, Buffer.alloc(bytes))
const preview = jpeg(frame(0xc0), scan)

const sound: [string, Buffer, object][] = [
  ['a PNG', png(header(10, 20), pixels(620)), { contentType: 'image/png', width: 10, height: 20 }],
  ['a PNG with a MiB of text', png(header(1, 1), text(1024 * 1024), pixels(4)), { width: 1 }],
  ['a PNG in 4,000 parts', png(header(1, 1), ...times(4_000, pixels(4))), { width: 1 }],
  ['16 million pixels', png(header(4000, 4000), pixels(4)), { height: 4000 }],
  ['a small interlaced PNG', png(header(10, 20, [8, 2, 1]), pixels(620)), { height: 20 }],
  ['a baseline JPEG', jpeg(frame(0xc0, { width: 30 }), scan), { contentType: 'image/jpeg', width: 30, height: 8 }],
  ['a progressive JPEG of 32 scans', jpeg(frame(0xc2), ...times(32, scan)), { width: 8 }],
  ['a JPEG with 2 MB of metadata', jpeg(...times(30, segment(0xe1, Buffer.alloc(65_000))), frame(0xc0), scan), {}],
  ['a JPEG with another one behind it', Buffer.concat([jpeg(frame(0xc0), scan), ...times(50, preview)]), { width: 8 }],
  ['a JPEG with a preview in its metadata', jpeg(segment(0xe1, preview), frame(0xc0), scan), { width: 8 }],
  ['a JPEG with fill bytes', jpeg(Buffer.from([0xff, 0xff, 0xff]), frame(0xc0), scan), { width: 8 }],
]
test.each(sound)('%s passes', (_, bytes, facts) => {
  expect(inspectImage(bytes)).toMatchObject(facts)
})

const ascii = (text: string) => Buffer.from(text, 'latin1')
const profile = segment(0xe2, ascii('ICC_PROFILE\0\x01\x01...'))
const jfif = segment(0xe0, ascii('JFIF\0\x01\x02\0\0\x01\0\x01\0\0'))
const adobe = segment(0xee, ascii('Adobe\0\x64\0\0\0\0\x01'))

const stored: [string, Buffer, Buffer][] = [
  [
    'a PNG without appended data',
    Buffer.concat([png(header(1, 1), pixels(4)), ascii('<script>')]),
    png(header(1, 1), pixels(4)),
  ],
  [
    'a PNG without metadata and unknown chunks',
    png(
      header(1, 1),
      chunk('gAMA', ascii('....')),
      ...['eXIf', 'tEXt', 'zTXt', 'iTXt', 'tIME', 'caBX', 'iDOT'].map((kind) => chunk(kind, ascii('secret'))),
      chunk('tRNS', ascii('......')),
      pixels(4),
      text(9),
    ),
    png(header(1, 1), chunk('gAMA', ascii('....')), chunk('tRNS', ascii('......')), pixels(4)),
  ],
  ['a JPEG without appended data', Buffer.concat([jpeg(frame(0xc0), scan), preview]), jpeg(frame(0xc0), scan)],
  [
    'a JPEG without metadata, but with the segments that determine its colors',
    jpeg(
      jfif,
      segment(0xe0, ascii('JFXX\0secret')),
      segment(0xe1, ascii('Exif\0\0secret')),
      segment(0xe1, ascii('http://ns.adobe.com/xap/1.0/\0secret')),
      profile,
      segment(0xe2, ascii('MPF\0secret')),
      segment(0xed, ascii('Photoshop 3.0\0secret')),
      adobe,
      segment(0xfe, ascii('secret')),
      Buffer.from([0xff, 0xff]),
      segment(0xeb, ascii('JP secret')),
      frame(0xc0),
      scan,
      segment(0xfe, ascii('secret')),
      scan,
    ),
    jpeg(jfif, profile, adobe, frame(0xc0), scan, scan),
  ],
]
test.each(stored)('returns the parts of %s', (_, bytes, expected) => {
  const facts = inspectImage(bytes)
  expect('parts' in facts && Buffer.concat(facts.parts)).toEqual(expected)
})

const refused: [string, Buffer, string][] = [
  ['a JPEG of 33 scans', jpeg(frame(0xc2), ...times(33, scan)), 'more than 32 scans'],
  ['a baseline JPEG of 33 scans', jpeg(frame(0xc0), ...times(33, scan)), 'more than 32 scans'],
  ['a JPEG of two frames', jpeg(frame(0xc0), scan, frame(0xc0), scan), 'more than one frame'],
  ['a lossless JPEG', jpeg(frame(0xc3), scan), 'lossless'],
  ['a hierarchical JPEG', jpeg(segment(0xde, Buffer.alloc(9)), frame(0xc5), scan), 'hierarchical'],
  ['a JPEG of differential frames', jpeg(frame(0xcd), scan), 'hierarchical'],
  ['a JPEG with arithmetic coding', jpeg(frame(0xc9), scan), 'arithmetic'],
  ['a JPEG of 12 bits', jpeg(frame(0xc1, { bits: 12 }), scan), '8 bits'],
  ['a JPEG with 2,000 comments', jpeg(...times(2_000, comment(1)), frame(0xc0), scan), 'more than 1000 segments'],
  [
    'a JPEG with a huge profile',
    jpeg(...times(33, segment(0xe2, Buffer.alloc(65_000))), frame(0xc0), scan),
    'metadata',
  ],
  ['a JPEG of 65,500 x 65,500', jpeg(frame(0xc0, { width: 65_500, height: 65_500 }), scan), 'pixels'],
  ['a JPEG without a height', jpeg(frame(0xc0, { height: 0 }), scan), 'broken'],
  ['a JPEG without a frame', jpeg(scan), 'broken'],
  ['a JPEG without a scan', jpeg(frame(0xc0)), 'broken'],
  ['a JPEG cut in a segment', jpeg(frame(0xc0), scan).subarray(0, 9), 'broken'],
  ['a JPEG cut in its scan', jpeg(frame(0xc0), scan).subarray(0, -3), 'broken'],
  ['a JPEG of fill bytes', Buffer.from([0xff, 0xd8, ...times(100, 0xff)]), 'broken'],
  ['a PNG of 100,000 x 100,000', png(header(100_000, 100_000), pixels(9)), 'pixels'],
  ['a PNG just over 16 million pixels', png(header(4_001, 4_000), pixels(9)), '16 million'],
  ['a PNG of one line', png(header(1_000_000, 1), pixels(9)), '16384 pixels on one side'],
  ['a PNG of one column', png(header(1, 1_000_000), pixels(9)), '16384 pixels on one side'],
  ['a PNG with too much text', png(header(1, 1), ...times(17, text(64 * 1024)), pixels(4)), 'metadata'],
  ['a PNG with a huge profile', png(header(1, 1), chunk('iCCP', Buffer.alloc(2_000_000)), pixels(4)), 'metadata'],
  ['a PNG with huge EXIF', png(header(1, 1), chunk('eXIf', Buffer.alloc(2_000_000)), pixels(4)), 'metadata'],
  ['a PNG in 6,000 parts', png(header(1, 1), ...times(6_000, pixels(4))), 'more than 5000 chunks'],
  ['an animated PNG', png(header(1, 1), chunk('acTL'), pixels(4)), 'animated'],
  ['a PNG without a header', png(pixels(4)), 'broken'],
  ['a PNG with two headers', png(header(1, 1), header(1, 1), pixels(4)), 'broken'],
  ['a PNG without pixels', png(header(1, 1)), 'broken'],
  ['a PNG of no width', png(header(0, 1), pixels(4)), 'broken'],
  ['a PNG without an end', png(header(1, 1), pixels(4)).subarray(0, -12), 'broken'],
  ['nothing', Buffer.alloc(0), 'neither PNG nor JPEG'],
  ['text', Buffer.from('<svg onload="alert(1)"/>'), 'neither PNG nor JPEG'],
]
test.each(refused)('rejects %s', (_, bytes, fault) => {
  expect(inspectImage(bytes)).toEqual({ fault: expect.stringContaining(fault) })
})
