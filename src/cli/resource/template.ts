import { Args, Flags } from '@oclif/core'
import { PassType } from '../../core/contract/schemas/definition.ts'
import type { Template } from '../../core/contract/templates/templates.ts'
import { htmlFlag, languageFlag, outFlag, projectFilter, projectQuery } from '../arguments/list-flags.ts'
import { namedArg, namedFlag, noneToNull } from '../arguments/named.ts'
import type { CardJson } from '../card-picture.ts'
import { drawing } from '../command/base-command.ts'
import { writeNamed } from '../command/cli-error.ts'
import { forceFlag, requireReplaceable } from '../command/existing-file.ts'
import { details } from '../command/output.ts'
import { callCommand, listCommand, PROJECT, type ResourceCommands, TEMPLATE } from '../command/resource-command.ts'
import type { ListShape } from '../list/shape.ts'
import { showTemplate } from '../records.ts'
import { readImage } from '../template/template-file.ts'
import { getVersion, warningText } from '../template/template-version.ts'

const shape: ListShape<Template> = {
  columns: [
    { name: 'id', kind: 'id' },
    { name: 'key', whole: true },
    ['name', 'passType'],
    { name: 'version', value: (template) => template.latestPublishedVersion, title: 'published', none: 'none' },
    { name: 'projectId', kind: 'id', title: 'project' },
    ['createdAt', 'updatedAt'],
  ],
  table: ['id', 'key', 'name', 'passType', 'version', 'createdAt'],
}

const args = { id: namedArg('template') }

export const commands: ResourceCommands = {
  'template:get': callCommand({
    summary: 'Show a template.',
    examples: [`template get ${TEMPLATE}`, `template get ${TEMPLATE} --json`],
    args,
    call: ({ templates }, { args: { id } }) => templates.get({ params: { id } }),
    print: showTemplate,
  }),
  'template:list': listCommand({
    summary: 'List templates, newest first.',
    examples: [
      'template list',
      {
        description: 'List all templates of a project, and those without a project',
        command: `template list --project ${PROJECT} --project none --all`,
      },
    ],
    flags: { project: projectFilter },
    query: ({ project }) => projectQuery(project),
    list: ({ templates }) => templates.list,
    shape,
    noun: ['template', 'templates'],
    empty: 'Next: passes template init',
  }),
  'template:create': callCommand({
    summary: 'Create a template without content.',
    description: 'To create one from a file, with its images and first version, use "passes template push".',
    examples: [
      'template create --name "Day ticket" --pass-type eventTicket',
      `template create --name Member --pass-type storeCard --project ${PROJECT}`,
    ],
    flags: {
      name: Flags.string({ summary: 'Name, up to 255 characters.', required: true }),
      'pass-type': Flags.option({ summary: 'Type of the passes.', options: PassType.options, required: true })(),
      key: Flags.string({ summary: 'Unique key for files and commands: lowercase letters, digits, hyphens.' }),
      description: Flags.string({ summary: 'Description, up to 2000 characters.' }),
      project: namedFlag('project', ' for passes of the template'),
    },
    call: ({ templates }, { flags: { key, name, description, project, ...flags } }) =>
      templates.create({ body: { key, name, description, passType: flags['pass-type'], projectId: project } }),
    print: showTemplate,
  }),
  'template:update': callCommand({
    summary: 'Update a template.',
    description:
      'Omitted fields keep their values. The pass type cannot change after the first version is published. Existing ' +
      'passes keep their project. To change the content, use "passes template push".',
    examples: [`template update ${TEMPLATE} --name "Day ticket"`, `template update ${TEMPLATE} --project none --json`],
    args,
    flags: {
      name: Flags.string({
        summary: 'Name, up to 255 characters.',
        atLeastOne: ['name', 'key', 'description', 'pass-type', 'project'],
      }),
      key: Flags.string({ summary: 'Unique key: lowercase letters, digits, hyphens; "" for no key.' }),
      description: Flags.string({ summary: 'Description, up to 2000 characters.' }),
      'pass-type': Flags.option({ summary: 'Type of the passes.', options: PassType.options })(),
      project: namedFlag('project', ' of new passes; "none" for no project', { mayBeNone: true }),
    },
    call: ({ templates }, { args: { id }, flags: { name, key, description, project, ...flags } }) =>
      templates.update({
        params: { id },
        body: {
          key: key === '' ? null : key,
          name,
          description,
          passType: flags['pass-type'],
          projectId: noneToNull(project),
        },
      }),
    print: showTemplate,
  }),
  'template:publish': callCommand({
    summary: 'Publish a draft version, irreversibly.',
    description: 'New passes use the newest published version. Existing passes keep their version until an upgrade.',
    examples: [
      {
        description: 'Publish the newest draft',
        command: `template publish ${TEMPLATE}`,
      },
      `template publish ${TEMPLATE} --version 3`,
    ],
    args,
    flags: { version: Flags.integer({ summary: 'Number of the version (default: the newest draft).' }) },
    async call(client, { args, flags }) {
      const wanted = await getVersion(client, { templateId: args.id, version: flags.version, draftOnly: true })
      const { definition: _, ...published } = await client.templateVersions.publish({ params: { id: wanted.id } })
      return published
    },
    print: ({ version, templateId }) => `Version ${version} of template ${templateId} is published.`,
    note: ({ warnings }, { isJson }) => (isJson ? undefined : warningText(warnings)),
  }),
  'template:pull': callCommand({
    summary: 'Write a template of the server to a template file.',
    description:
      'The file has the format of "passes template push", with image IDs of the server instead of file names.',
    examples: [
      'template pull day-ticket --out ticket.json',
      {
        description: 'Write version 2',
        command: `template pull ${TEMPLATE} --version 2`,
      },
    ],
    args,
    flags: {
      version: Flags.integer({ summary: 'Number of the version (default: the newest, including drafts).', min: 1 }),
      out: outFlag('Output file'),
      force: forceFlag,
    },
    check: ({ out, force }) => requireReplaceable(out, force),
    async call(client, { args, flags, note }) {
      const { id, key, name, description, passType } = await client.templates.get({ params: { id: args.id } })
      const version = await getVersion(client, { templateId: id, version: flags.version })
      const { definition } = await client.templateVersions.get({ params: { id: version.id } })
      const file = { ...(key !== null && { key }), name, description, passType, definition }
      if (flags.out !== undefined) await writeNamed(flags.out, `${JSON.stringify(file, undefined, 2)}\n`)
      if (key === null)
        note(`The template has no key, which push and diff need. Set one with: passes template update ${id} --key …`)
      return { file, version }
    },
    value: ({ file }) => file,
    print: ({ file, version: { version, stage } }, { flags }) =>
      flags.out === undefined
        ? JSON.stringify(file, undefined, 2)
        : `Wrote ${flags.out} (version ${version}, ${stage}).`,
  }),
  'template:preview': callCommand({
    summary: 'Draw a sample pass of a template.',
    description:
      'Variables have their example values. The drawing shows the colors, the barcode, the fields that an iPhone shows, ' +
      'and below them the fields that it leaves out. Warnings are shown, too.',
    examples: [
      { description: 'Draw the newest version, including drafts', command: `template preview ${TEMPLATE}` },
      {
        description: 'Write a page with both phones',
        command: `template preview ${TEMPLATE} --version 2 --html ticket.html`,
      },
      { description: 'Draw the pass in another language', command: 'template preview conference-ticket --language ja' },
    ],
    args,
    flags: {
      version: Flags.integer({ summary: 'Number of the version (default: the newest, including drafts).', min: 1 }),
      language: languageFlag(),
      html: htmlFlag,
      force: forceFlag,
    },
    check: ({ html, force }) => requireReplaceable(html, force),
    async call(client, { args, flags, isJson, log, note }) {
      const { html, language } = flags
      const { id, version, stage } = await getVersion(client, { templateId: args.id, version: flags.version })
      const params = { id }
      if (html) {
        const page = await client.templateVersions.preview({ params, query: { format: 'html', language } })
        if (!(page instanceof Uint8Array)) throw new TypeError('The server returned no page')
        await writeNamed(html, page)
        log(`Wrote ${html} (version ${version}, ${stage}).`)
        return { templateId: args.id, version, stage, file: html }
      }
      const preview = await client.templateVersions.preview({ params, query: { language } })
      if (preview instanceof Uint8Array) throw new TypeError('The server returned a file')
      if (isJson) return preview
      const { drawLooks, previewedByApple } = await import('../device/phone-output.ts')
      // The server renders a `CardJson`, but the contract does not define its properties.
      const given = preview.card as unknown as CardJson
      // Draw the pass that Apple devices would receive: unlike the card, it includes the Apple overrides.
      const looks = previewedByApple(preview.apple, given.language)
      const card = { ...given, ...looks?.card, images: given.images }
      log(await drawLooks({ card, newer: looks?.newer }, { ...drawing(flags), marksSurplus: true }))
      note(`Version ${version} (${stage}), with sample values.`)
      const warnings = warningText(preview.warnings)
      if (warnings) note(warnings)
      return preview
    },
  }),
  'template:delete': callCommand({
    summary: 'Delete a template.',
    description: 'Passes of the template that are already issued remain valid.',
    examples: [`template delete ${TEMPLATE}`, `template delete ${TEMPLATE} --yes --json`],
    args,
    asks: true,
    async call({ templates }, { args, ask }) {
      const { id, name } = await templates.get({ params: { id: args.id } })
      await ask(`Delete template ${name} (${id})?`)
      await templates.delete({ params: { id } })
      return { id, deleted: true }
    },
    print: ({ id }) => `Template ${id} is deleted.`,
  }),
  'template:delete-draft': callCommand({
    summary: 'Delete a draft version of a template.',
    description: 'A published version cannot be deleted.',
    examples: [
      { description: 'Delete the newest draft', command: `template delete-draft ${TEMPLATE}` },
      `template delete-draft ${TEMPLATE} --version 3 --yes`,
    ],
    args,
    flags: { version: Flags.integer({ summary: 'Number of the draft version (default: the newest draft).', min: 1 }) },
    asks: true,
    async call(client, { args, flags, ask }) {
      const draft = await getVersion(client, { templateId: args.id, version: flags.version, draftOnly: true })
      await ask(`Delete version ${draft.version} of template ${args.id}?`)
      await client.templateVersions.delete({ params: { id: draft.id } })
      return { id: draft.id, version: draft.version, deleted: true }
    },
    print: ({ version }, { args }) => `Deleted version ${version} of template ${args.id}.`,
  }),
  'template:schema': callCommand({
    summary: 'Print the JSON Schema of the variables of a template.',
    description:
      'The schema of the newest published version describes exactly which variables the server accepts, and which ' +
      'columns a CSV file of "passes issue" needs.',
    examples: [`template schema ${TEMPLATE}`, `template schema ${TEMPLATE} > ticket.schema.json`],
    args,
    call: async ({ templates }, { args: { id } }) => (await templates.variablesSchema({ params: { id } })).schema,
    print: (schema) => JSON.stringify(schema, undefined, 2),
  }),
  'image:upload': callCommand({
    summary: 'Upload an image, and print its ID for definitions.',
    description: '"passes template push" uploads the images of a template file automatically.',
    examples: ['image upload icon.png', 'image upload logo.jpg --json'],
    args: { file: Args.string({ description: 'PNG or JPEG file.', required: true }) },
    async call({ images }, { args }) {
      const { bytes, contentType } = await readImage(args.file)
      return images.create({ body: bytes, contentType })
    },
    print: ({ id, contentType, width, height, bytes }) =>
      details([
        ['Image', id],
        ['Type', contentType],
        ['Size', `${width} x ${height}, ${bytes} bytes`],
      ]),
  }),
}
