import { openApiDocument } from '../../../core/openapi/document.ts'
import type { Page } from '../html.ts'
import { docsPage, link, markdown } from './docs-page.ts'
import { fieldList, fieldsOf, type Schema, typeOf } from './fields.ts'

export const objectsPath = '/docs/objects'

const INTRO = `The objects in requests and responses. A request rejects unknown fields. A response can contain fields that are not listed
here, so ignore the fields that you do not know. The names are those of \`components.schemas\` in \`openapi.json\`. The typed client
exports their types.`

export function objectsPage(): Page {
  const { schemas } = openApiDocument().components as { schemas: Record<string, Schema> }
  const named = Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const articles = named.map(([name, schema]) => {
    const { description, ...type } = schema
    const fields = fieldsOf(schema)
    const content = fields.length > 0 ? fieldList(fields, '') : `<p>${typeOf(type, '')}</p>`
    return `<article id="${name}"><h2>${name}</h2>${markdown(description ?? '')}${content}</article>`
  })
  return docsPage({
    title: 'Objects',
    root: '../',
    nav: `<ul>${named.map(([name]) => `<li>${link(`#${name}`, name)}</li>`).join('')}</ul>`,
    main: `<h1>Objects</h1>${markdown(INTRO)}${articles.join('')}`,
  })
}
