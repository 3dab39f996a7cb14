import { ErrorCode } from '../../../core/contract/schemas/common.ts'
import { errorTable } from '../../../core/errors.ts'
import { errorExample, openApiDocument } from '../../../core/openapi/document.ts'
import { escapeHtml, type Page } from '../html.ts'
import { block, docsPage, link, markdown } from './docs-page.ts'

export const errorsPath = '/docs/errors'

interface Described {
  operationId: string
  responses: Record<string, { description: string }>
}

/** Returns the page of all error codes. Codes that no operation returns come last. */
export function errorsPage(): Page {
  const { paths } = openApiDocument()
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods) as Described[])
  const codes = ErrorCode.options.map((code) => ({
    code,
    status: errorTable[code][0],
    meaning: errorTable[code][1],
  }))
  const isReserved = ({ meaning }: { meaning: string }) => meaning.startsWith('Reserved')
  const entry = ({ code, status, meaning }: (typeof codes)[number]) => {
    const answeredBy = operations.filter(({ responses }) => responses[status]?.description.split(', ').includes(code))
    // Do not list the operations of a code that every operation can return.
    const where =
      answeredBy.length === operations.length
        ? '<p>Any endpoint can return this code.</p>'
        : `<p>Returned by ${answeredBy.map(({ operationId }) => link(`../docs#${operationId}`, operationId)).join(', ')}</p>`
    const example = block(JSON.stringify(errorExample(code), null, 2))
    return `<article id="${code}"><h2>${code}</h2><p><b>${status}</b> ${escapeHtml(meaning)}</p>${where}${example}</article>`
  }
  const answered = codes.filter((one) => !isReserved(one))
  const reserved = codes.filter(isReserved)
  const rows = reserved.map(
    ({ code, status, meaning }) =>
      `<tr><th scope="row" id="${code}">${code}</th><td>${status}</td><td>${escapeHtml(meaning)}</td></tr>`,
  )
  return docsPage({
    title: 'Errors',
    root: '../',
    nav: `<ul>${answered.map(({ code }) => `<li>${link(`#${code}`, code)}</li>`).join('')}<li>${link('#reserved', 'Reserved codes')}</li></ul>`,
    main: `<h1>Errors</h1>${markdown(ERRORS)}${answered.map(entry).join('')}<h2 id="reserved">Reserved codes</h2>
<p>These codes are part of the enumeration, but no endpoint returns them.</p><table><tbody>${rows.join('')}</tbody></table>`,
  })
}

const ERRORS = `The body of an error is \`{errorCode, message, correlationId, details}\`. Errors of \`POST /v1/scans\` have no
\`errorCode\`. The message explains what is wrong and what to do. Messages can change between releases, so programs must use the
code. When you contact the operator, include the correlation ID, which is also in the server log.`
