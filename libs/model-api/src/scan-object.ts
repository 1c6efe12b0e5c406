/** A member of a JSON object at the top level, with the byte range of its value. */
export interface JsonMember {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** The top level of a JSON object, with what its strings hold. */
export interface ScannedObject {
  readonly members: ReadonlyMap<string, JsonMember>;
  /** Position after the opening brace, where a member can be inserted. */
  readonly inside: number;
  /** Bytes of text, without encoded images and other binary data. */
  readonly textBytes: number;
  /** Number of strings that hold encoded binary data. */
  readonly encodedStrings: number;
}

/** The body is not the JSON object that every parser reads alike. Quotes nothing of it. */
export class UnreadableObject extends Error {
  override readonly name = 'UnreadableObject';
  /** The member at the top level that is wrong, if it is one. */
  readonly member: string | undefined;

  constructor(message: string, member?: string) {
    super(message);
    this.member = member;
  }
}

const MAX_DEPTH = 512;
/** No API has as many. Each costs more memory than its bytes. */
const MAX_MEMBERS = 1_000;
/** Of an object whose keys are compared. */
const MAX_KEYS = 10_000;
/** A longer string without a space is encoded data if its member is one for data: its bytes say nothing about its tokens. */
const ENCODED_BYTES = 2_048;
/** Members with images, documents, audio and signatures. A text without a space elsewhere is a text. */
const DATA_MEMBERS: ReadonlySet<string> = new Set([
  ...['data', 'encrypted_content', 'file_data', 'image_url', 'result', 'signature', 'thoughtSignature'],
  ...['thought_signature', 'url'],
]);
/** Arguments and results of tools, and their schemas: a model reads each of their members as text. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  ...['args', 'arguments', 'input', 'input_schema', 'parameters', 'response', 'schema'],
]);

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const LOWER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Characters of base64 and of the start of a data URL. */
const ENCODED = new Uint8Array(256);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_:;,.') {
  ENCODED[character.charCodeAt(0)] = 1;
}
const ESCAPES = new Set(Array.from('"\\/bfnrtu', (character) => character.charCodeAt(0)));

/**
 * Reads the top level of a JSON object strictly (RFC 8259) and without building its values. Parsers differ in what they
 * do with duplicate keys, so a key may occur once at the top level, and once in each object inside the members that
 * decisions read.
 *
 * @param bytes valid UTF-8
 * @param read names of the top-level members that are read, not only passed on
 * @throws UnreadableObject
 */
export function scanObject(bytes: Uint8Array, read: ReadonlySet<string> = new Set()): ScannedObject {
  return new Scanner(bytes, read).scan();
}

class Scanner {
  readonly #bytes: Uint8Array;
  readonly #read: ReadonlySet<string>;
  #at = 0;
  #textBytes = 0;
  #encodedStrings = 0;

  constructor(bytes: Uint8Array, read: ReadonlySet<string>) {
    this.#bytes = bytes;
    this.#read = read;
  }

  scan(): ScannedObject {
    if (this.#bytes[0] === 0xef) throw new UnreadableObject('must not begin with a byte order mark');
    this.#skipSpace();
    if (this.#bytes[this.#at] !== OPEN_OBJECT) throw new UnreadableObject('must be a JSON object');
    this.#at += 1;
    const inside = this.#at;
    const members = new Map<string, JsonMember>();
    this.#eachMember((name) => {
      if (members.has(name)) throw new UnreadableObject('occurs more than once', name);
      if (members.size === MAX_MEMBERS) throw new UnreadableObject(`must have at most ${MAX_MEMBERS} members`);
      const start = this.#at;
      // That of Responses is a conversation.
      this.#value(1, this.#read.has(name), name === 'input' ? 'messages' : name);
      members.set(name, { name, start, end: this.#at });
    });
    this.#skipSpace();
    if (this.#at !== this.#bytes.length) throw new UnreadableObject('must end after the JSON object');
    return { members, inside, textBytes: this.#textBytes, encodedStrings: this.#encodedStrings };
  }

  /** Reads up to and including the closing brace. `each` reads the value. */
  #eachMember(each: (name: string) => void): void {
    this.#skipSpace();
    if (this.#bytes[this.#at] === CLOSE_OBJECT) {
      this.#at += 1;
      return;
    }
    for (;;) {
      this.#skipSpace();
      const start = this.#at;
      this.#string();
      const name = JSON.parse(decode(this.#bytes.subarray(start, this.#at))) as string;
      this.#skipSpace();
      this.#require(COLON);
      this.#skipSpace();
      each(name);
      this.#skipSpace();
      if (this.#bytes[this.#at] === CLOSE_OBJECT) break;
      this.#require(COMMA);
    }
    this.#at += 1;
  }

  /** @param name of the member that holds it; undefined inside of what is text */
  #value(depth: number, isRead: boolean, name: string | undefined): void {
    if (depth > MAX_DEPTH) throw new UnreadableObject(`must not be nested deeper than ${MAX_DEPTH}`);
    const first = this.#bytes[this.#at];
    if (first === QUOTE) this.#string(name !== undefined && DATA_MEMBERS.has(name));
    else if (first === OPEN_OBJECT) this.#object(depth, isRead, name);
    else if (first === OPEN_LIST) this.#list(depth, isRead, name);
    else if (first === MINUS || isDigit(first)) this.#number();
    else this.#word();
  }

  #object(depth: number, isRead: boolean, of: string | undefined): void {
    this.#at += 1;
    const isText = of === undefined || TEXT_MEMBERS.has(of);
    const names = isRead ? new Set<string>() : undefined;
    this.#eachMember((name) => {
      if (names?.has(name) === true) throw new UnreadableObject('must not contain a key twice', name);
      if (names?.size === MAX_KEYS) throw new UnreadableObject(`must have at most ${MAX_KEYS} members in an object`);
      names?.add(name);
      this.#value(depth + 1, isRead, isText ? undefined : name);
    });
  }

  #list(depth: number, isRead: boolean, of: string | undefined): void {
    this.#at += 1;
    this.#skipSpace();
    if (this.#bytes[this.#at] === CLOSE_LIST) {
      this.#at += 1;
      return;
    }
    for (;;) {
      this.#skipSpace();
      this.#value(depth + 1, isRead, of);
      this.#skipSpace();
      if (this.#bytes[this.#at] === CLOSE_LIST) break;
      this.#require(COMMA);
    }
    this.#at += 1;
  }

  #string(isData = false): void {
    this.#require(QUOTE);
    const start = this.#at;
    let isEncoded = true;
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw this.#broken();
      if (byte === QUOTE) break;
      if (byte < SPACE) throw this.#broken();
      if (byte === BACKSLASH) this.#escape();
      else if (ENCODED[byte] === 0) isEncoded = false;
      this.#at += 1;
    }
    const length = this.#at - start;
    if (isData && isEncoded && length >= ENCODED_BYTES) this.#encodedStrings += 1;
    else this.#textBytes += length;
    this.#at += 1;
  }

  /** Ends at the last character of the escape. */
  #escape(): void {
    this.#at += 1;
    const escaped = this.#bytes[this.#at];
    if (escaped === undefined || !ESCAPES.has(escaped)) throw this.#broken();
    if (escaped !== LOWER_U) return;
    for (let digit = 0; digit < 4; digit++) {
      this.#at += 1;
      if (!isHexDigit(this.#bytes[this.#at])) throw this.#broken();
    }
  }

  #number(): void {
    if (this.#bytes[this.#at] === MINUS) this.#at += 1;
    if (this.#bytes[this.#at] === ZERO) this.#at += 1;
    else this.#digits();
    if (this.#bytes[this.#at] === POINT) {
      this.#at += 1;
      this.#digits();
    }
    const exponent = this.#bytes[this.#at];
    if (exponent !== 0x65 && exponent !== 0x45) return;
    this.#at += 1;
    const sign = this.#bytes[this.#at];
    if (sign === MINUS || sign === 0x2b) this.#at += 1;
    this.#digits();
  }

  #digits(): void {
    if (!isDigit(this.#bytes[this.#at])) throw this.#broken();
    while (isDigit(this.#bytes[this.#at])) this.#at += 1;
  }

  #word(): void {
    for (const word of WORDS) {
      if (word.every((byte, offset) => this.#bytes[this.#at + offset] === byte)) {
        this.#at += word.length;
        return;
      }
    }
    throw this.#broken();
  }

  #skipSpace(): void {
    for (;;) {
      const byte = this.#bytes[this.#at];
      if (byte !== SPACE && byte !== LINE_FEED && byte !== RETURN && byte !== TAB) return;
      this.#at += 1;
    }
  }

  #require(byte: number): void {
    if (this.#bytes[this.#at] !== byte) throw this.#broken();
    this.#at += 1;
  }

  #broken(): UnreadableObject {
    return new UnreadableObject(`is not valid JSON at byte ${this.#at}`);
  }
}

const WORDS = ['true', 'false', 'null'].map((word) => Array.from(word, (character) => character.charCodeAt(0)));

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isHexDigit(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

const decoder = new TextDecoder();

function decode(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Parses one member of a scanned object; undefined if it is absent. */
export function readMember(bytes: Uint8Array, { members }: ScannedObject, name: string): unknown {
  const member = members.get(name);
  return member === undefined ? undefined : JSON.parse(decode(bytes.subarray(member.start, member.end)));
}

/**
 * Sets a member at the top level of an object and leaves every other byte as it was: large numbers, signed blocks and
 * cached prefixes stay equal.
 */
export function spliceMember(bytes: Uint8Array, scanned: ScannedObject, name: string, value: unknown): Uint8Array {
  const text = JSON.stringify(value);
  const member = scanned.members.get(name);
  if (member !== undefined) return join(bytes, member.start, text, member.end);
  const comma = scanned.members.size === 0 ? '' : ',';
  return join(bytes, scanned.inside, `${JSON.stringify(name)}:${text}${comma}`, scanned.inside);
}

function join(bytes: Uint8Array, start: number, text: string, end: number): Uint8Array {
  const inserted = new TextEncoder().encode(text);
  const joined = new Uint8Array(start + inserted.length + bytes.length - end);
  joined.set(bytes.subarray(0, start));
  joined.set(inserted, start);
  joined.set(bytes.subarray(end), start + inserted.length);
  return joined;
}

/** What cannot be stored would leave the call without a record. */
export function requirePrintable(name: string, member: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this refuses
  if (name.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(name)) return;
  throw new UnreadableObject('must not have control characters or half characters in names', member);
}
