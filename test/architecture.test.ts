import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** Checks every import in src against the modules of docs/architecture.md. */

const src = join(import.meta.dirname, '../src')

/** The modules that each module may import. */
const modules: Record<string, string[]> = {
  locales: ['locales'],
  core: ['core', 'locales'],
  files: ['files', 'core'],
  storage: ['storage', 'files', 'core'],
  wallets: ['wallets', 'files', 'core'],
  server: ['server', 'storage', 'wallets', 'files', 'core', 'locales'],
  client: ['client', 'core'],
  door: ['door', 'core', 'locales'],
  desk: ['desk', 'client', 'core', 'locales'],
  cli: ['cli', 'client', 'door', 'files', 'core'],
  commands: ['cli', 'client', 'files', 'core'],
}

/**
 * The folders of the server, each with the folders that it may import. All of them import the files at the top of src/server.
 * These import no folder, except that context.ts imports the types of the services.
 */
const serverFolders: Record<string, string[]> = {
  admission: [],
  http: ['admission'],
  images: ['admission'],
  metrics: [],
  identities: ['metrics'],
  jobs: ['admission'],
  evidence: ['jobs'],
  'wallet-sync': ['admission', 'http', 'identities', 'images', 'jobs'],
  'pass-content': ['jobs', 'wallet-sync'],
  webhooks: ['jobs'],
  inbound: ['http', 'wallet-sync'],
  messages: ['identities', 'jobs', 'wallet-sync'],
  platforms: ['identities', 'inbound', 'jobs', 'messages', 'wallet-sync'],
  pages: ['http', 'images', 'platforms', 'wallet-sync'],
  people: ['http', 'pages'],
  api: ['admission', 'http', 'metrics', 'pages', 'pass-content', 'platforms', 'wallet-sync', 'webhooks'],
  mail: [],
  join: ['admission', 'api', 'http', 'mail', 'pages', 'pass-content'],
  background: ['evidence', 'jobs', 'join', 'messages', 'pass-content', 'platforms', 'wallet-sync', 'webhooks'],
  // Composes the services and the app.
  boot: [
    'admission',
    'http',
    'images',
    'metrics',
    'identities',
    'jobs',
    'evidence',
    'wallet-sync',
    'webhooks',
    'inbound',
    'background',
    'platforms',
    'pages',
    'people',
    'api',
    'join',
    'mail',
  ],
  operator: [
    'http',
    'metrics',
    'identities',
    'wallet-sync',
    'pass-content',
    'inbound',
    'platforms',
    'pages',
    'mail',
    'people',
    'api',
    'boot',
  ],
}

/** Packages that are used in some modules only. */
const packages: Record<string, RegExp> = {
  h3: /^server\//,
  listhen: /^server\//,
  nodemailer: /^server\/mail\//,
  'node-cron': /^server\//,
  'prom-client': /^server\/metrics\//,
  sharp: /^server\/images\/(child|make-files)\.ts$/,
  luxon: /^(core\/rules|cli)\//,
  knex: /^storage\//,
  pg: /^storage\//,
  'pg-copy-streams': /^storage\/copy\//,
  sqlite3: /^(storage\/|cli\/console\/offline\/sqlite-tables\.ts)/,
  '@oclif/core': /^(commands|cli)\//,
  ink: /^cli\/console\//,
  idb: /^door\//,
  'd3-scale': /^desk\//,
  'd3-shape': /^desk\//,
  undici: /^(client|server|wallets|cli\/(demo|device|webhook))\//,
  apn: /^wallets\/apple\//,
  'openid-client': /^server\/people\//,
  jose: /^server\/people\//,
  'google-auth-library': /^wallets\/google\//,
}

/**
 * Commands that use the database or run a server. Other commands must not be able to load either. `template
 * dev` draws the same pages as the server, `template lint` prints the same warnings as publishing, and `template import`
 * leaves out what publishing rejects.
 */
const operators =
  /^commands\/(serve|demo|export|move-out|template\/(dev|import|lint)|(jobs|audit)\/list)\.ts$|^cli\/operator\//

interface Import {
  file: string
  /** A path below src, or the name of a package. */
  target: string
  isLocal: boolean
  isTypeOnly: boolean
  isDynamic: boolean
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
const sources = new Map(
  files.map((file) => [file, ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true)]),
)
const imports = files.flatMap(importsOf)

test('src has only the modules listed in this test', () => {
  expect([...new Set(files.map(moduleOf))].sort()).toEqual(Object.keys(modules).sort())
})

test('imports between modules keep their direction', () => {
  const wrong = imports
    .filter(({ isLocal }) => isLocal)
    .filter(({ file, target }) => !modules[moduleOf(file)]?.includes(moduleOf(target)))
    .filter((found) => !isOperatorsOwn(found))
  expect(wrong.map(show)).toEqual([])
})

test('the command line uses the engine of a door, and nothing of it that needs a browser', () => {
  const fromEngine = /^door\/engine\/(?!browser|store\/indexed-db)/
  const wrong = imports.filter(
    ({ file, target }) => moduleOf(file) === 'cli' && moduleOf(target) === 'door' && !fromEngine.test(target),
  )
  expect(wrong.map(show)).toEqual([])
  const ofBrowsers = /^(idb|preact.*|door\/engine\/(browser|store\/indexed-db)\.ts|door\/app\/.*)$/
  const inEngine = imports.filter(({ file, isTypeOnly }) => fromEngine.test(file) && !isTypeOnly)
  expect(inEngine.filter(({ target }) => ofBrowsers.test(target)).map(show)).toEqual([])
})

test('imports between folders of the server keep their direction', () => {
  const folderOf = (path: string) => /^server\/([^/]+)\//.exec(path)?.[1]
  const wrong = imports.filter(({ file, target }) => {
    const [from, to] = [folderOf(file), folderOf(target)]
    if (!to || from === to || !file.startsWith('server/') || file === 'server/context.ts') return false
    return from === undefined || !serverFolders[from]?.includes(to)
  })
  expect(wrong.map(show)).toEqual([])
})

test('no two folders of the server import each other, directly or through others', () => {
  const seen: string[] = []
  for (const [folder, imported] of Object.entries(serverFolders)) {
    expect(
      imported.filter((name) => !seen.includes(name)),
      folder,
    ).toEqual([])
    seen.push(folder)
  }
})

test('core imports no package but zod, luxon for the calendars of time zones, and of Node only node:crypto', () => {
  const allowed = ['zod', 'luxon', 'node:crypto']
  const wrong = imports.filter(
    ({ file, target, isLocal }) => moduleOf(file) === 'core' && !isLocal && !allowed.includes(target),
  )
  expect(wrong.map(show)).toEqual([])
})

test('apple and google never meet, and the sandbox knows neither server nor storage', () => {
  const platformOf = (path: string) => /^wallets\/(apple|google)\//.exec(path)?.[1]
  const wrong = imports.filter(({ file, target }) => {
    const [from, to] = [platformOf(file), platformOf(target)]
    return (from && to && from !== to) || (file.startsWith('wallets/sandbox/') && /^(server|storage)\//.test(target))
  })
  expect(wrong.map(show)).toEqual([])
})

test('few files outside its own code and the API name Google', () => {
  // client/types.ts lists the entities of the contract.
  const own = /^(wallets\/(google|sandbox)\/|core\/contract\/|commands\/|client\/types)/
  const naming = files.filter((file) => !own.test(file) && /google/i.test(read(file)))
  expect(naming.length).toBeLessThanOrEqual(100)
})

test('resources enqueue work and never call a wallet', () => {
  const wrong = imports.filter(
    ({ file, target, isTypeOnly }) => file.startsWith('server/api/') && /^wallets\//.test(target) && !isTypeOnly,
  )
  expect(wrong.map(show)).toEqual([])
})

test('only the image process loads the image decoder', () => {
  const importersOf = (file: string) =>
    imports.filter(({ target, isTypeOnly }) => target === file && !isTypeOnly).map(({ file }) => file)
  expect(importersOf('server/images/child.ts')).toEqual([])
  expect(importersOf('server/images/make-files.ts')).toEqual(['server/images/child.ts'])
})

test.each(Object.keys(packages))('%s is used in its own modules only', (name) => {
  const wrong = imports.filter(
    ({ file, target, isLocal }) =>
      !isLocal && (target === name || target.startsWith(`${name}/`)) && !packages[name]!.test(file),
  )
  expect(wrong.map(show)).toEqual([])
})

test('each private part of a package is used in one file, and these packages have exact versions', () => {
  const homes: [string, RegExp][] = [
    ['storage/db/knex-parts.ts', /knex\/lib|__knex__|\b_query\b|\b_(completed|resolver|rejecter)\b|\bwrapNativePool\b/],
    ['storage/db/postgres/pipeline.ts', /\bpg\.Query\b|submittedNamedStatements|\bhandleReadyForQuery\b/],
    ['server/boot/connections.ts', /\bonIncoming\b|Object\.assign\(server/],
    ['server/boot/listener.ts', /from 'listhen'/],
  ]
  for (const [home, parts] of homes) expect(files.filter((file) => parts.test(read(file)))).toEqual([home])
  const { dependencies } = JSON.parse(readFileSync(join(src, '../package.json'), 'utf8'))
  for (const name of ['knex', 'pg', 'sqlite3', 'listhen']) expect(dependencies[name]).toMatch(/^\d+\.\d+\.\d+$/)
})

test('only storage/db, migrations, and copies distinguish the databases', () => {
  const asks = (pattern: RegExp, allowed: RegExp) =>
    files.filter((file) => pattern.test(read(file)) && !allowed.test(file))
  expect(asks(/\bisPostgres\b|client\.dialect\b/, /^storage\/db\//)).toEqual([])
  expect(asks(/\binDialect\b/, /^storage\/(db|copy|migrations)\//)).toEqual([])
})

test('the environment is read in server/config.ts and cli only', () => {
  const reads = files.filter((file) => /\bprocess\.env\b|\bprocess\[/.test(read(file)))
  expect(reads.filter((file) => file !== 'server/config.ts' && moduleOf(file) !== 'cli')).toEqual([])
})

test('no literal is spread only to keep its parts on one line', () => {
  expect(files.filter((file) => /\.\.\.\{|\.\.\.\(\[[^\]]*\] as const\)/.test(read(file)))).toEqual([])
})

test('no file is named utils, and none is longer than 350 lines', () => {
  expect(files.filter((file) => /(^|[/-])(utils?|helpers?|misc)[./-]/.test(file))).toEqual([])
  expect(files.filter((file) => read(file).trimEnd().split('\n').length > 350)).toEqual([])
})

test('exports of the contract and the client have a docstring, and commands a summary', () => {
  const isDocumented = (node: ts.Node) =>
    ts.getJSDocCommentsAndTags(node).some((part) => ts.isJSDoc(part) && part.comment !== undefined)
  const isPublic = (file: string) => file.startsWith('core/contract/') || file.startsWith('client/')
  const undocumented = files.filter(isPublic).flatMap((file) => {
    const { statements } = sources.get(file)!
    // A type with the name of a documented schema needs no docstring.
    const schemas = new Set(
      statements
        .filter(ts.isVariableStatement)
        .filter(isDocumented)
        .flatMap(({ declarationList }) => declarationList.declarations.map(({ name }) => name.getText())),
    )
    // The docstring of an overloaded function is above its first signature.
    const functions = statements.filter(ts.isFunctionDeclaration).filter(isDocumented)
    const documented = new Set(functions.map(({ name }) => name!.text))
    return statements
      .filter((statement) => ts.canHaveModifiers(statement) && isExported(statement))
      .filter((statement) => !ts.isExportDeclaration(statement) && !isDocumented(statement))
      .filter((statement) => !(ts.isTypeAliasDeclaration(statement) && schemas.has(statement.name.text)))
      .filter((statement) => !(ts.isFunctionDeclaration(statement) && documented.has(statement.name!.text)))
      .map((statement) => `${file}: ${statement.getText().split('\n')[0]!}`)
  })
  expect(undocumented).toEqual([])
  const commands = files.filter((file) => moduleOf(file) === 'commands')
  expect(commands.filter((file) => !/static (override )?(readonly )?summary\b/.test(read(file)))).toEqual([])
})

test('no file imports itself by way of others, types included', () => {
  const targetsOf = (file: string) => imports.filter((one) => one.file === file && one.isLocal)
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (path.includes(file) || done.has(file)) return
    for (const { target } of targetsOf(file)) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  expect(circles).toEqual([])
})

test('folders have at most 15 files, except for those with one file per item', () => {
  // Each migration has a number, and oclif finds commands by their paths.
  const rows = ['storage/migrations', 'commands']
  const folders = [...new Set(files.map((file) => dirname(file)))]
  const countIn = (folder: string) => files.filter((file) => dirname(file) === folder).length
  expect(folders.filter((folder) => countIn(folder) > 15 && !rows.includes(folder))).toEqual([])
})

test('files named in the documents exist, and each answer of the architecture names the file that has it', () => {
  const root = join(src, '..')
  const documents = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(root, 'docs', file))
  const textOf = (file: string) => readFileSync(file, 'utf8')
  const isThere = (file: string) => existsSync(join(src, file)) || existsSync(join(root, file))
  const missing = [...documents, join(root, 'CONTRIBUTING.md')].flatMap((document) =>
    [...textOf(document).matchAll(/`([a-z0-9/-]+\.tsx?)`/g)].map(([, file]) => file!).filter((file) => !isThere(file)),
  )
  expect(missing).toEqual([])
  const lost = [
    ...documents,
    join(root, 'README.md'),
    join(root, 'CONTRIBUTING.md'),
    join(root, 'SECURITY.md'),
  ].flatMap((document) =>
    [...textOf(document).matchAll(/\]\((?!https?:)([^)#]+)/g)]
      .map(([, link]) => join(dirname(document), link!))
      .filter((target) => !existsSync(target)),
  )
  expect(lost).toEqual([])
  const architecture = textOf(join(root, 'docs/architecture.md'))
  const folders = [...architecture.matchAll(/`((?:[a-z-]+\/)+)`/g)].map(([, folder]) => folder!)
  expect(folders.filter((folder) => !isThere(folder))).toEqual([])
  const ofModules = files.flatMap((file) => /^(?:cli|server|storage|core\/rules)\/([a-z-]+\/)/.exec(file)?.[1] ?? [])
  const unnamed = [...new Set(ofModules)].filter((folder) => !new RegExp(`[\\s/]${folder}`).test(architecture))
  expect(unnamed).toEqual([])
  const names = [...architecture.matchAll(/`([a-z]+[A-Z]\w*)`/g)].map(([, name]) => name!)
  expect(names.filter((name) => !files.some((file) => read(file).includes(name)))).toEqual([])
  const answers = [...architecture.matchAll(/^\| .+ \| `(.+)` \(`(.+)`\) \|$/gm)]
  expect(answers).toHaveLength(32)
  for (const [, file, text] of answers) expect(read(file!), file).toContain(text)
})

test('the six reading paths of the architecture have the stated length, below the limit', () => {
  const [, section = ''] = readFileSync(join(src, '../docs/architecture.md'), 'utf8').split('## Six reading paths')
  const walks = [...section.split('\n## ')[0]!.matchAll(/^- \*\*.+\*\* \((\d+) of (\d+)\): ((?:.|\n {2})+)$/gm)]
  const lengths = walks.map(([, , , hops]) => new Set(hops!.match(/`[^`]+`/g)).size)
  expect(lengths).toEqual(walks.map(([, count]) => Number(count)))
  expect(walks.map(([, , most]) => Number(most))).toEqual([20, 20, 20, 20, 20, 20])
  expect(walks.filter(([, , most], n) => lengths[n]! > Number(most))).toEqual([])

  // Files that are used without an import: services that the composition passes on, and repositories of the store.
  const handedOn = [
    'server/admission/rate-limit.ts',
    'server/identities/registry.ts',
    'storage/webhooks/events-repository.ts',
  ]
  const stray = walks.flatMap(([, , , hops]) => {
    const walk = new Set([...hops!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!))
    const isMet = (file: string) =>
      imports.some((one) => walk.has(one.file) && walk.has(one.target) && [one.file, one.target].includes(file))
    return [...walk].filter((file) => !handedOn.includes(file) && !isMet(file))
  })
  expect(stray).toEqual([])
})

test('the modules that decide who waits have at most 15 constants', () => {
  const deciding = files.filter((file) => file.startsWith('server/admission/') || file === 'storage/db/fair-gate.ts')
  const constants = deciding.flatMap((file) => read(file).match(/^(export )?const [A-Z][A-Z_]+\b/gm) ?? [])
  expect(constants.length).toBeLessThanOrEqual(15)
})

/** Files that write public files, so they need not use private-file.ts. */
const writers = ['cli/command/cli-error.ts', 'cli/demo/story.ts', 'cli/template/write-files.ts']

test('only files/ creates private files', () => {
  const makers =
    /\b(writeFile|appendFile|copyFile|mkdir)(Sync)?,? .*from 'node:fs|\bcreateWriteStream\(|\bopen(Sync)?\([^)]*'(w|a)x?\+?'|\b0o[67]\d\d\b/
  const found = files.filter((file) => moduleOf(file) !== 'files' && makers.test(read(file)))
  expect(found.filter((file) => !writers.includes(file))).toEqual([])
})

test('file names are kebab-case', () => {
  expect(files.filter((file) => !/^([a-z0-9-]+\/)*[a-z0-9-]+\.tsx?$/.test(file))).toEqual([])
})

test('this test sees static, type, dynamic and required imports', () => {
  expect(imports).toEqual(
    expect.arrayContaining([
      {
        file: 'commands/serve.ts',
        target: 'cli/command/base-command.ts',
        isLocal: true,
        isTypeOnly: false,
        isDynamic: false,
      },
      { file: 'commands/serve.ts', target: 'server/boot/serve.ts', isLocal: true, isTypeOnly: true, isDynamic: false },
      { file: 'commands/serve.ts', target: 'server/boot/serve.ts', isLocal: true, isTypeOnly: false, isDynamic: true },
      expect.objectContaining({
        file: 'storage/db/knex-parts.ts',
        target: 'knex/lib/dialects/sqlite3/index.js',
      }),
    ]),
  )
})

/** Operators load server and storage only when they run: `passes --version` must not load knex. */
function isOperatorsOwn({ file, target, isDynamic, isTypeOnly }: Import): boolean {
  return operators.test(file) && /^(server|storage)\//.test(target) && (isDynamic || isTypeOnly)
}

function importsOf(file: string): Import[] {
  const found: Import[] = []
  const add = (specifier: ts.Node | undefined, kind: { isTypeOnly?: boolean; isDynamic?: boolean } = {}) => {
    if (!specifier || !ts.isStringLiteralLike(specifier)) return
    const isLocal = specifier.text.startsWith('.')
    const target = isLocal ? normalize(join(dirname(file), specifier.text)) : specifier.text
    found.push({ file, target, isLocal, isTypeOnly: false, isDynamic: false, ...kind })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, { isTypeOnly: node.importClause?.isTypeOnly ?? false })
    if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, { isTypeOnly: node.isTypeOnly })
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node.argument.literal, { isTypeOnly: true })
    if (ts.isCallExpression(node)) {
      if (node.expression.kind === ts.SyntaxKind.ImportKeyword) add(node.arguments[0], { isDynamic: true })
      else if (/\brequire\b|createRequire/.test(node.expression.getText())) add(node.arguments[0])
    }
    ts.forEachChild(node, visit)
  }
  visit(sources.get(file)!)
  return found
}

function isExported(node: ts.HasModifiers): boolean {
  return ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false
}

function moduleOf(path: string): string {
  return path.split('/')[0]!
}

function read(file: string): string {
  return readFileSync(join(src, file), 'utf8')
}

function show({ file, target }: Import): string {
  return `${file} imports ${target}`
}
