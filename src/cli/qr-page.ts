import stringWidth from 'string-width'
import type { JoinPage } from '../core/contract/join-pages.ts'
import type { DoorInvitation } from '../core/contract/scans/doors.ts'
import { directionOfLanguage } from '../core/rules/display/language-match.ts'
import { textIn } from '../core/rules/template/definition-languages.ts'
import { symbolModules } from './card-picture.ts'
import { UsageError } from './command/cli-error.ts'
import { localZone, wrapText } from './command/output.ts'

interface Text {
  text: string
  size: number
  isBold?: boolean
  /** The space above the text, in points. */
  gap?: number
}

interface QrPage {
  url: string
  above: Text[]
  below: Text[]
  language?: string | undefined
}

/** A line of text. Positions are in points from the top left corner of the page. */
interface Line extends Text {
  y: number
}

interface Layout {
  lines: Line[]
  /** The dark squares of the code: left, top, and width of each. */
  squares: { x: number; y: number; side: number }[]
  isRightToLeft: boolean
}

/** An A4 page, in points. */
const PAGE = { width: 595, height: 842, margin: 56 }
const TEXT_WIDTH = PAGE.width - 2 * PAGE.margin
/** The average width of a character, as a share of the font size. A wide character counts twice. */
const CHARACTER = 0.56
const LINE_HEIGHT = 1.25

/**
 * Draws a poster with the title and the QR code of a join page, as SVG or PDF, depending on the file's extension.
 * @param options the source under which visits are counted, and the language (default: the title's first language)
 * @throws UsageError for another extension, if the texts leave no space for the code, or if a PDF cannot show a
 * character
 */
export async function drawPoster(
  { title, intro, ...page }: JoinPage,
  file: string,
  { source, language }: { source?: string | undefined; language?: string | undefined },
): Promise<string | Buffer> {
  const draw = /\.svg$/i.test(file) ? toSvg : /\.pdf$/i.test(file) ? toPdf : undefined
  if (!draw) throw new UsageError(`--poster ${file} must end with .svg or .pdf`)
  const tag = language ?? (typeof title === 'string' ? undefined : Object.keys(title)[0])
  const url = new URL(page.url)
  if (source !== undefined) url.searchParams.set('source', source)
  return draw(
    await layOut({
      url: url.href,
      above: [
        { text: textIn(title, tag ?? ''), size: 40, isBold: true },
        { text: textIn(intro, tag ?? ''), size: 16, gap: 14 },
      ],
      below: [{ text: url.href.replace(/^https?:\/\//, ''), size: 12 }],
      language: tag,
    }),
  )
}

const STEPS = [
  '1. Scan this code with the camera of your phone, and open the link.',
  '2. Give the phone a name, begin, and allow the camera.',
  '3. Start, and hold each ticket up to the camera: green admits.',
]

/** Draws a door invitation as SVG: gate, project, code, instructions, and expiry in local time. */
export async function drawInvitation(
  { url, expiresAt }: Pick<DoorInvitation, 'url' | 'expiresAt'>,
  { gate, projectName }: { gate: string; projectName: string },
): Promise<string> {
  const until = new Date(expiresAt).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'short' })
  return toSvg(
    await layOut({
      url,
      above: [
        { text: gate, size: sizeToFit(gate, { from: 20, to: 60 }), isBold: true },
        { text: projectName, size: sizeToFit(projectName, { from: 14, to: 28 }) },
      ],
      below: [
        ...STEPS.map((text) => ({ text, size: 13, gap: 6 })),
        { text: `Works until ${until} (${localZone()})`, size: 13, gap: 12 },
      ],
    }),
  )
}

/** Returns the largest font size up to `to` at which a text fits on one line, but at least `from`. */
function sizeToFit(text: string, { from, to }: { from: number; to: number }): number {
  return Math.max(from, Math.min(to, Math.floor(TEXT_WIDTH / CHARACTER / stringWidth(text))))
}

async function layOut({ url, above, below, language }: QrPage): Promise<Layout> {
  const modules = (await symbolModules('qr', url))!
  const head = linesOf(above, PAGE.margin)
  const foot = linesOf(below, 0)
  const top = head.end + 24
  const width = Math.min(TEXT_WIDTH, PAGE.height - PAGE.margin - 17 - foot.end - top)
  if (width < TEXT_WIDTH / 3)
    throw new UsageError('The texts of the page leave no space for the code', { hint: 'shorten them.' })
  const side = width / modules.length
  const left = PAGE.margin + (TEXT_WIDTH - width) / 2
  const squares = modules.flatMap((row, r) =>
    row.flatMap((isDark, c) => (isDark ? [{ x: left + c * side, y: top + r * side, side }] : [])),
  )
  const lines = [...head.lines, ...foot.lines.map((line) => ({ ...line, y: line.y + top + width }))]
  return { lines, squares, isRightToLeft: language !== undefined && directionOfLanguage(language) === 'rtl' }
}

function linesOf(texts: readonly Text[], top: number): { lines: Line[]; end: number } {
  const lines: Line[] = []
  let end = top
  for (const text of texts) {
    if (text.text === '') continue
    end += text.gap ?? 0
    for (const line of wrap(text.text, text.size)) {
      end += text.size * LINE_HEIGHT
      lines.push({ ...text, text: line, y: end })
    }
  }
  return { lines, end }
}

/** Breaks a text into lines that fit the page. Keeps line breaks of the text, and breaks a word that is too long. */
function wrap(text: string, size: number): string[] {
  const most = Math.floor(TEXT_WIDTH / (size * CHARACTER))
  return text
    .split('\n')
    .flatMap((paragraph) => (paragraph.trim() === '' ? [''] : wrapText(paragraph.trimStart(), most)))
}

function toSvg({ lines, squares, isRightToLeft }: Layout): string {
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
function toPdf({ lines, squares }: Layout): Buffer {
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

/** The supported characters of WinAnsiEncoding whose code differs from their Unicode code point. */
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

/** Escapes text and removes characters that XML does not allow. */
function escapeXml(text: string): string {
  return text.replaceAll(/[\p{Cc}\uFFFE\uFFFF]/gu, '').replaceAll(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
}
