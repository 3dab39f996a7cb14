// Writes the declarations of the package of the client. They contain the types of the contract written out, so that they
// need no schemas.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/**
 * Writes the declarations of the exports.
 * @param {{ root: string, source: string, entries: string[], target: string }} folders
 */
export function declareClient({ root, source, entries, target }) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  const program = ts.createProgram(entries, { ...options, noEmit: false, declaration: true })
  const write = (name, text) => writeFileSync(join(target, name), text.replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"))
  for (const name of ['client', 'client-errors', 'paginate', 'webhooks']) {
    const file = program.getSourceFile(join(source, `${name}.ts`))
    program.emit(file, (_, text) => write(`${name}.d.ts`, text), undefined, true)
  }
  const types = ts.createSourceFile('types.d.ts', typesOf(program, source), ts.ScriptTarget.Latest)
  write('types.d.ts', ts.createPrinter().printFile(types))
}

/** Returns the declarations of types.ts with all types written out, so that they import nothing. */
function typesOf(program, source) {
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(join(source, 'types.ts'))
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(file)).map((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    const declaration = target.declarations.find(
      (node) => ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node),
    )
    return { name: symbol.name, declaration, type: checker.getDeclaredTypeOfSymbol(target) }
  })
  const texts = new Map(exported.filter(isFromSchema).map(({ name, type }) => [name, textOf(checker, type)]))
  // Refer to large types by their names instead of repeating them, the largest first.
  const named = [...texts].filter(([, text]) => text.length > 40).toSorted(([, a], [, b]) => b.length - a.length)
  const withNames = (text) => named.reduce((result, [name, part]) => result.replaceAll(part, name), text)

  const endpoints = JSON.parse(readFileSync(join(source, 'endpoints.json'), 'utf8'))
  const declarations = exported.map(({ name, declaration, type }) => {
    if (name === 'Methods') return `export interface Methods {${methodsOf(checker, type, { endpoints, withNames })}}`
    const text = texts.get(name)
    if (text === undefined) return declaration.getFullText()
    // Name only the parts of the type, not the type itself.
    return `export type ${name} = ${text[0]}${withNames(text.slice(1))}`
  })
  return declarations.join('\n')
}

/** Whether a type is derived from a schema, so that it must be written out. */
function isFromSchema({ name, declaration }) {
  return name !== 'Methods' && ts.isTypeAliasDeclaration(declaration) && !declaration.typeParameters
}

function textOf(checker, type) {
  const { NoTruncation, InTypeAlias } = ts.TypeFormatFlags
  // The brand of checked translations means nothing to callers.
  return checker.typeToString(type, undefined, NoTruncation | InTypeAlias).replaceAll(' & $brand<"translations">', '')
}

/** Returns the method of each endpoint, with its method and path in the docstring. */
function methodsOf(checker, methods, { endpoints, withNames }) {
  return methods
    .getProperties()
    .map((resource) => {
      const operations = checker
        .getTypeOfSymbol(resource)
        .getProperties()
        .map((operation) => {
          const { method, path } = endpoints[resource.name][operation.name]
          return `/** ${method} ${path} */ ${operation.name}: ${withNames(signatureOf(checker, operation))}`
        })
      return `${resource.name}: {${operations.join(';\n')}}`
    })
    .join(';\n')
}

function signatureOf(checker, operation) {
  const [signature] = checker.getTypeOfSymbol(operation).getCallSignatures()
  const [call] = signature.getParameters()
  const result = textOf(checker, signature.getReturnType())
  // Print each part of a call, because the checker would print the whole with the schemas of its route.
  const parts = checker
    .getNonNullableType(checker.getTypeOfSymbol(call))
    .getProperties()
    .map((part) => {
      const sign = part.flags & ts.SymbolFlags.Optional ? '?' : ''
      return `${part.name}${sign}: ${textOf(checker, checker.getTypeOfSymbol(part))}`
    })
  const sign = checker.isOptionalParameter(call.valueDeclaration) ? '?' : ''
  const options = result.startsWith('AsyncGenerator') ? 'FollowOptions' : 'CallOptions'
  const shape = parts.length > 0 ? `{ ${parts.join('; ')} }` : 'unknown'
  return `(call${sign}: ${shape}, options?: ${options}) => ${result}`
}
