import type {
  Definition,
  DesignImage,
  ImageChoice,
  ImageRole,
  WrittenDefinition,
} from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { fill, lonePlaceholder, type Scope, stringsDeep } from './placeholder.ts'
import { formatPatterns } from './variables.ts'

const IMAGE_ID = new RegExp(formatPatterns.image.pattern)

export interface Choice<Value> {
  by: string
  map: Record<string, Value>
  else?: Value | undefined
}

type ByLanguage = Exclude<DesignImage, ImageChoice>

export function isByLanguage(image: DesignImage | undefined): image is ByLanguage {
  return typeof image === 'object' && !('by' in image)
}

/** An image without this language uses the default language. */
export function imagesIn(
  { design, languages }: Pick<WrittenDefinition, 'design' | 'languages'>,
  language: string,
): Definition['design']['images'] {
  const images = Object.entries(design.images).map(([role, image]) => [
    role,
    isByLanguage(image) ? (image[language] ?? image[languages?.default ?? '']) : image,
  ])
  return Object.fromEntries(images.filter(([, image]) => image !== undefined))
}

/** Returns the value of a choice for a pass, or `undefined` if no key matches and the choice has no `else`. */
export function choose<Value>({ by, map, else: otherwise }: Choice<Value>, scope: Scope): Value | undefined {
  const key = fill(by, scope).trim()
  return Object.hasOwn(map, key) ? map[key] : otherwise
}

/** Omits roles without an image. */
export function resolveImages(
  { design }: Pick<Definition, 'design'>,
  scope: Scope,
): Partial<Record<ImageRole, string>> {
  const images: Partial<Record<ImageRole, string>> = {}
  for (const [role, choice] of Object.entries(design.images) as [ImageRole, ImageChoice | undefined][]) {
    const source = typeof choice === 'object' ? choose(choice, scope) : choice
    const id = source && fill(source, scope).trim()
    if (id && IMAGE_ID.test(id)) images[role] = id
  }
  return images
}

export function ownImageRoles({ design }: Pick<Definition, 'design'>): ImageRole[] {
  const choices = Object.entries(design.images) as [ImageRole, ImageChoice | undefined][]
  return choices
    .filter(
      ([, choice]) => typeof choice === 'object' || (choice !== undefined && lonePlaceholder(choice) !== undefined),
    )
    .map(([role]) => role)
}

export function imageVariables({ variables }: Pick<WrittenDefinition, 'variables'>): string[] {
  return variables.filter(({ format }) => format === 'image').map(({ name }) => name)
}

export function imagesOfPass(definition: Pick<Definition, 'variables'>, variables: Record<string, unknown>) {
  return imageVariables(definition).flatMap((name) => {
    const id = Object.hasOwn(variables, name) ? variables[name] : undefined
    return typeof id === 'string' ? [{ name, id }] : []
  })
}

/** Returns the image ID of a source. For a variable, this is its example, else its default, else `undefined`. */
export function sampleImage(source: string, { variables }: Pick<WrittenDefinition, 'variables'>): string | undefined {
  const name = lonePlaceholder(source)
  if (name === undefined) return source
  const variable = variables.find((one) => one.name === name)
  return variable?.example ?? variable?.default
}

/** Returns the IDs of all images that a role can have in one language. A variable has the ID from `sampleImage`. */
export function sampleImages(definition: Definition, role: ImageRole): string[] {
  const sources = [...sourcesOf(definition.design.images[role])]
  return sources.flatMap(({ text }) => sampleImage(text, definition) ?? [])
}

interface NamedImage {
  path: (string | number)[]
  id: string
  /** The role in the design; `undefined` for an image of a variable. */
  role?: ImageRole
}

/** Yields each image ID in a definition: in its design, and in the defaults and examples of its variables. */
export function* namedImages(definition: Definition | WrittenDefinition): Generator<NamedImage> {
  const { design, variables } = definition
  for (const [role, image] of Object.entries(design.images) as [ImageRole, DesignImage | undefined][]) {
    for (const { text, path } of sourcesOf(image)) {
      if (lonePlaceholder(text) === undefined) yield { path: ['design', 'images', role, ...path], id: text, role }
    }
  }
  for (const [index, variable] of variables.entries()) {
    if (variable.format !== 'image') continue
    for (const key of ['default', 'example'] as const) {
      const id = variable[key]
      if (id !== undefined) yield { path: ['variables', index, key], id }
    }
  }
}

/** The maximum number of images in a design, in all states and languages together. */
const MAX_IMAGES = 2_000

/** Checks the image count and image placeholders of a definition. The server checks that the images exist. */
export function* checkImages(definition: Pick<WrittenDefinition, 'design' | 'variables'>): Generator<Issue> {
  const known = new Set(imageVariables(definition))
  let count = 0
  for (const [role, image] of Object.entries(definition.design.images) as [ImageRole, DesignImage | undefined][]) {
    for (const { text, path } of sourcesOf(image)) {
      count += 1
      if (count > MAX_IMAGES) {
        const message =
          `The design names more than ${MAX_IMAGES} images in its states and languages. At most ${MAX_IMAGES} are ` +
          'allowed'
        yield { path: ['design', 'images'], message }
        return
      }
      const name = lonePlaceholder(text)
      if (name === undefined || known.has(name)) continue
      const message = `{{${name}}} is not an image: declare the variable with the format image`
      yield { path: ['design', 'images', role, ...path], message }
    }
  }
}

/** Yields the image sources of a role. The `by` texts of choices are not sources. */
function* sourcesOf(image: DesignImage | undefined): Generator<{ text: string; path: (string | number)[] }> {
  if (isByLanguage(image)) {
    for (const [language, choice] of Object.entries(image))
      for (const { text, path } of sourcesOf(choice)) yield { text, path: [language, ...path] }
  } else {
    for (const source of stringsDeep(image)) if (source.path[0] !== 'by') yield source
  }
}
