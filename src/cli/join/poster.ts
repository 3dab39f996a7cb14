import stringWidth from 'string-width'
import type { JoinPage } from '../../core/contract/join-pages.ts'
import { directionOfLanguage } from '../../core/rules/display/language-match.ts'
import { textIn } from '../../core/rules/template/definition-languages.ts'
import { symbolModules } from '../card-picture.ts'
import { UsageError } from '../command/cli-error.ts'

export interface PosterOptions {
  /** The source of visitors who scan the QR code, for the figures of the page. */
  source?: string | undefined
  /** The language of the texts. Default: the first language of the title. */
  language?: string | undefined
}

/** A line of text. Positions are in points from the top left corner of the page. */
interface Line {
  text: string
  y: number
  size: number
  isBold: boolean
}

interface Poster {
  lines: Line[]
  /** The dark squares of the code: left, top, and width of each. */
  squares: { x: number; y: number; side: number }[]
  isRightToLeft: boolean
}

/** An A4 page, in points. */
const PAGE = { width: 595, height: 842, margin: 56 }
const TEXT_WIDTH = PAGE.width - 2 * PAGE.margin
/** The average width of a character, as a share of the size of the font. A wide character counts twice. */
const CHARACTER = 0.56

/** Draws a poster of a page with its QR code, as SVG or PDF by the extension of the file. @throws UsageError */
export async function drawPoster(page: JoinPage, file: string, options: PosterOptions): Promise<string | Buffer> {
  if (/\.svg$/i.test(file)) return toSvg(await layOut(page, options))
  if (/\.pdf$/i.test(file)) return toPdf(await layOut(page, options))
  throw new UsageError(`--poster ${file} must end with .svg or .pdf`)
}

async function layOut(page: JoinPage, { source, language }: PosterOptions): Promise<Poster> {
  const tag = language ?? (typeof page.title === 'string' ? undefined : Object.keys(page.title)[0])
  const url = new URL(page.url)
  if (source !== undefined) url.searchParams.set('source', source)
  const lines: Line[] = []
  let y = PAGE.margin
  const write = (text: string, size: number, isBold = false) => {
    for (const line of wrap(text, size)) {
      y += size * 1.25
      lines.push({ text: line, y, size, isBold })
    }
  }
  write(textIn(page.title, tag ?? ''), 40, true)
  const intro = textIn(page.intro, tag ?? '')
  if (intro !== '') {
    y += 14
    write(intro, 16)
  }
  y += 24
  const modules = (await symbolModules('qr', url.href))!
  const width = Math.min(TEXT_WIDTH, PAGE.height - PAGE.margin - 32 - y)
  if (width < TEXT_WIDTH / 3)
    throw new UsageError('The texts of the page leave no space for the code', { hint: 'shorten the intro.' })
  const side = width / modules.length
  const left = PAGE.margin + (TEXT_WIDTH - width) / 2
  const top = y
  const squares = modules.flatMap((row, r) =>
    row.flatMap((isDark, c) => (isDark ? [{ x: left + c * side, y: top + r * side, side }] : [])),
  )
  y = top + width
  write(url.href.replace(/^https?:\/\//, ''), 12)
  return { lines, squares, isRightToLeft: tag !== undefined && directionOfLanguage(tag) === 'rtl' }
}

/** Breaks a text into lines that fit the page. Keeps line breaks of the text, and breaks a word that is too long. */
function wrap(text: string, size: number): string[] {
  const most = Math.floor(TEXT_WIDTH / (size * CHARACTER))
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = []
    let line = ''
    for (const word of paragraph.split(' ').flatMap((one) => split(one, most))) {
      if (line !== '' && stringWidth(`${line} ${word}`) > most) {
        lines.push(line)
        line = word
      } else line = line === '' ? word : `${line} ${word}`
    }
    return [...lines, line]
  })
}

function split(word: string, most: number): string[] {
  const parts: string[] = ['']
  for (const char of word) {
    if (stringWidth(parts.at(-1)! + char) > most) parts.push('')
    parts[parts.length - 1] += char
  }
  return parts
}

function toSvg({ lines, squares, isRightToLeft }: Poster): string {
  const x = isRightToLeft ? PAGE.width - PAGE.margin : PAGE.margin
  const path = squares.map(
    ({ x, y, side }) => `M${round(x)} ${round(y)}h${round(side)}v${round(side)}h-${round(side)}z`,
  )
  const texts = lines.map(
    ({ text, y, size, isBold }) =>
      `<text x="${x}" y="${round(y)}" font-size="${size}"${isBold ? ' font-weight="700"' : ''}>${escapeXml(text)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${PAGE.width} ${PAGE.height}" width="210mm" height="297mm">
<rect width="100%" height="100%" fill="#fff"/>
<g font-family="Helvetica, Arial, sans-serif" direction="${isRightToLeft ? 'rtl' : 'ltr'}">
${texts.join('\n')}
</g>
<path shape-rendering="crispEdges" d="${path.join('')}"/>
</svg>
`
}

/**
 * Writes a page with Helvetica, which every PDF viewer has, so that the file embeds no font.
 * @throws UsageError if the text has a character that WinAnsiEncoding lacks
 */
function toPdf({ lines, squares }: Poster): Buffer {
  const content = [
    ...lines.map(
      ({ text, y, size, isBold }) =>
        `BT /${isBold ? 'F2' : 'F1'} ${size} Tf ${PAGE.margin} ${round(PAGE.height - y)} Td (${pdfText(text)}) Tj ET`,
    ),
    ...squares.map(({ x, y, side }) => `${round(x)} ${round(PAGE.height - y - side)} ${round(side)} ${round(side)} re`),
    'f',
  ].join('\n')
  const font = (name: string) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`
  return pdfFile([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] /Contents 4 0 R
/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>`,
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    font('Helvetica'),
    font('Helvetica-Bold'),
  ])
}

function pdfFile(objects: string[]): Buffer {
  let file = '%PDF-1.4\n'
  const offsets: number[] = []
  for (const [index, object] of objects.entries()) {
    offsets.push(file.length)
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer
<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`
  return Buffer.from(file, 'latin1')
}

/** The characters of WinAnsiEncoding whose code differs from their Unicode code point. */
const WINDOWS: Record<string, number> = {
  '€': 0x80,
  '…': 0x85,
  '‘': 0x91,
  '’': 0x92,
  '“': 0x93,
  '”': 0x94,
  '–': 0x96,
  '—': 0x97,
}

function pdfText(text: string): string {
  return [...text]
    .map((char) => {
      const code = WINDOWS[char] ?? char.codePointAt(0)!
      if (code > 0xff || (WINDOWS[char] === undefined && code > 0x7e && code < 0xa0)) {
        throw new UsageError(`A PDF poster cannot show ${char}`, { hint: 'write an .svg file instead.' })
      }
      return /[\\()]/.test(char) || code > 0x7e ? `\\${code.toString(8).padStart(3, '0')}` : char
    })
    .join('')
}

function round(points: number): string {
  return String(Math.round(points * 1000) / 1000)
}

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
}
